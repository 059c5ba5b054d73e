"""Every way of writing a call, and every way of getting it wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.agents.toolcalls import CUT, parse_call, parse_calls
from esagent.core.episode import Completion, ToolCall, ToolSpec


def spec(name: str, **types: str) -> ToolSpec:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(types)})


CALC = spec("calculator", expression="string")
CONVERT = spec("convert", amount="number", source="string", target="string")
SORT = spec("sort", items="array")
JOIN = spec("join", separator="string", items="array")
NOW = spec("now")
REPEAT = spec("repeat", text="string", times="integer", loud="boolean")
TOOLS = (CALC, CONVERT, SORT, JOIN, NOW, REPEAT)


def one(text: str, stop: str = "stop") -> ToolCall:
    return parse_call(Completion(text, stop), TOOLS)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("calculator(20 - 6)", "calculator", {"expression": "20 - 6"}),
        (' calculator("20 - 6") ', "calculator", {"expression": "20 - 6"}),
        ("calculator(expression='2 * (3 + 4)')", "calculator", {"expression": "2 * (3 + 4)"}),
        ("calculator(max(2, 3) + (1))", "calculator", {"expression": "max(2, 3) + (1)"}),
        ("calculator(it's 5)", "calculator", {"expression": "it's 5"}),
        ('calculator("a \\"b\\" c")', "calculator", {"expression": 'a "b" c'}),
        ("convert(5, km, m)", "convert", {"amount": 5, "source": "km", "target": "m"}),
        ("convert(2.5, source='km', target=m)", "convert", {"amount": 2.5, "source": "km", "target": "m"}),
        ("convert(amount = '5', target = m, source = km)", "convert", {"amount": 5, "source": "km", "target": "m"}),
        ("sort(3, 1, 2)", "sort", {"items": [3, 1, 2]}),
        ("sort([3, 1.5, 'x, y'])", "sort", {"items": [3, 1.5, "x, y"]}),
        ("sort(pear, apple)", "sort", {"items": ["pear", "apple"]}),
        ('join("-", a, b, c)', "join", {"separator": "-", "items": ["a", "b", "c"]}),
        ("join(separator=', ', items=[a, b])", "join", {"separator": ", ", "items": ["a", "b"]}),
        ("now()", "now", {}),
        ("[now()]", "now", {}),
        ("repeat(hi there, 2, True)", "repeat", {"text": "hi there", "times": 2, "loud": True}),
        ("```python\nconvert(5, km, m)\n```", "convert", {"amount": 5, "source": "km", "target": "m"}),
        ("I will use calculator(1 + 1).", "calculator", {"expression": "1 + 1"}),
        ("<think>sort(1)</think>\ncalculator(2)", "calculator", {"expression": "2"}),
        ('{"name": "calculator", "arguments": {"expression": "1+1"}}', "calculator", {"expression": "1+1"}),
        ('{"name": "calculator", "arguments": {"expression": "sort(1)"}}', "calculator", {"expression": "sort(1)"}),
        ('{"name": "calculator", "parameters": {"expression": 7}}', "calculator", {"expression": "7"}),
        ('<|python_tag|>{"name": "now", "parameters": {}}', "now", {}),
        ('[{"name": "sort", "arguments": "{\\"items\\": [2, 1]}"}]', "sort", {"items": [2, 1]}),
        ('{"type": "function", "function": {"name": "now"}}', "now", {}),
        ('<tool_call>\n{"name": "sort", "arguments": {"items": [1]}}\n</tool_call>', "sort", {"items": [1]}),
        ('ok <tool_call>{"name": "now", "arguments": {}}', "now", {}),
        (
            "<tool_call>\n<function=repeat>\n<parameter=text>\na\n b\n</parameter>\n"
            "<parameter=times>\n3\n</parameter>\n<parameter=loud>\nfalse\n</parameter>\n</function>\n</tool_call>",
            "repeat",
            {"text": "a\n b", "times": 3, "loud": False},
        ),
        ("<function=now>\n</function>", "now", {}),
    ],
)
def test_reads(text: str, name: str, arguments: dict) -> None:
    assert one(text) == ToolCall(name, arguments)


@pytest.mark.parametrize(
    ("text", "name", "error"),
    [
        ('{"name": "calculator"}', "calculator", "the call has no arguments"),
        ('{"name": "calculator", "arguments": null}', "calculator", "the call has no arguments"),
        ('{"name": "calculator", "arguments": {}}', "calculator", "missing argument expression"),
        ('{"name": "calculator", "arguments": "{oops"}', "calculator", "not valid JSON"),
        ('{"name": "calculator", "arguments": [1]}', "calculator", "must be a JSON object"),
        ('{"name": "calculator", "arguments": {oops}}', "", "not a valid JSON call"),
        ('{"name": "sort", "arguments": {"items": NaN}}', "", "not a valid JSON call"),
        ('{"name": "sort", "arguments": {"items": 3}}', "sort", "must be a list"),
        ('{"name": "sort", "arguments": {"items": [1], "key": 2}}', "sort", "no argument 'key'"),
        ('{"name": "now", "arguments": {}} {"name": "now", "arguments": {}}', "", "2 calls"),
        ("<tool_call>{}</tool_call>", "", "needs a name"),
        ("<tool_call></tool_call>", "", "empty"),
        ("<tool_call>nonsense</tool_call>", "", "not a valid JSON call"),
        ("calculator(2 + 3", "calculator", "closing parenthesis is missing"),
        ("calculator(2 + 3]", "calculator", "closes nothing"),
        ("calculator()", "calculator", "missing argument expression"),
        ("convert(5, km)", "convert", "missing argument target"),
        ("convert(5, km, m, cm)", "convert", "takes 3 arguments (amount, source, target), got 4"),
        ("convert(five, km, m)", "convert", "must be a number, got 'five'"),
        ("convert(1e999, km, m)", "convert", "must be a number"),
        ("repeat(a, 2.5, true)", "repeat", "must be a whole number"),
        ("convert(amount=5, km, m)", "convert", "positional argument follows"),
        ("convert(5, km, m, amount=6)", "convert", "given twice"),
        ("calculater(1)", "", "did you mean calculator?"),
        ("frobnicate(1)", "", "tools: calculator"),
        ("just words", "", "no tool call in 'just words'"),
        ("", "", "no tool call"),
        ("<tool_call><function=now><parameter=x>1", "now", "</function> is missing"),
        ("<function=now><parameter=x>1</parameter></function>", "now", "no argument 'x'"),
    ],
)
def test_explains(text: str, name: str, error: str) -> None:
    call = one(text)
    assert (call.name, dict(call.arguments)) == (name, {})
    assert error in call.error


@pytest.mark.parametrize(
    "text",
    [
        "calculator(2 + ",
        '{"name": "sort", "arguments": {"items": [1, 2',
        '<tool_call>{"name": "sort", "argu',
        "<tool_call><function=now>",
        "I should think about",
    ],
)
def test_cut_at_the_token_cap_is_told_apart(text: str) -> None:
    assert one(text, "length").error == CUT
    assert one(text, "stop").error not in ("", CUT)


def test_a_complete_call_counts_although_the_cap_was_reached() -> None:
    assert one("calculator(2) and then", "length") == ToolCall("calculator", {"expression": "2"})


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "now", "arguments": {}}\n{"name": "calculator", "arguments": {"expression": "1"}}'
        "</tool_call>",
        '<tool_call>{"name": "now", "arguments": {}}</tool_call><tool_call>{"name": "calculator", "arguments": '
        '{"expression": "1"}}</tool_call>',
        '[{"name": "now", "arguments": {}}, {"name": "calculator", "arguments": {"expression": "1"}}]',
        "now(), calculator(1)",
        "[now(), calculator(expression='1')]",
        "<tool_call><function=now></function><function=calculator><parameter=expression>1</parameter></function>"
        "</tool_call>",
    ],
)
def test_two_calls_are_both_read(text: str) -> None:
    assert parse_calls(Completion(text), TOOLS) == (ToolCall("now"), ToolCall("calculator", {"expression": "1"}))
    assert "2 calls" in one(text).error


TAGS = [
    "<tool_call>",
    "</tool_call>",
    "<function=now>",
    "<parameter=x>",
    "</parameter>",
    "</function>",
    "<think>",
    "</think>",
]
CODE = ['{"name": "sort"', '"arguments": {', "}", "calculator(", "convert(1, ", ")", "]", "[", "'", '"', "\\", ",", "="]
FRAGMENTS = st.sampled_from(TAGS + CODE)


@given(st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=5))).map("".join)), st.booleans())
def test_never_raises_and_errors_carry_no_arguments(text: str, cut: bool) -> None:
    completion = Completion(text, "length" if cut else "stop")
    for call in (*parse_calls(completion, TOOLS), parse_call(completion, TOOLS)):
        assert call.name in {"", *(tool.name for tool in TOOLS)}
        assert call.name or call.error
        assert not (call.error and call.arguments)


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(), st.text())
def test_json_arguments_survive_exactly(amount: float, source: str, target: str) -> None:
    arguments = {"amount": amount, "source": source, "target": target}
    body = json.dumps({"name": "convert", "arguments": arguments})
    if "<" not in source + target:
        assert one(f"<tool_call>{body}</tool_call>").arguments == arguments
        assert one(body).arguments == arguments


def test_deep_nesting_is_an_error() -> None:
    assert "not a valid JSON call" in one('<tool_call>{"name": ' + "[" * 100_000 + "</tool_call>").error
    assert one("sort(" + "[" * 100_000).error
    assert one("sort(" + "[" * 5_000 + "]" * 5_000 + ")").name == "sort"
