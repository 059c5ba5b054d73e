"""Prompt files: the format, what raw and chat models get of it, and what is refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from esagent.agents.modular.agent import FIELDS, MODULES, PROMPTS
from esagent.agents.prompts import arguments, load_prompts, parse_prompt
from esagent.agents.react import agent as react
from esagent.core.episode import Message, ToolSpec
from esagent.errors import ConfigError
from esagent.tasks.qa import names as qa_names
from esagent.tasks.qa.build import search_tools
from esagent.tasks.qa.world import make_world
from esagent.tasks.toolbox.draw import split_of
from esagent.tasks.toolbox.words import NAMES, TABLES, THINGS, WORDS
from esagent.tools.registry import make_tools

TEXT = """
Do it well.
{tools}

Task: one
Answer: 1

Task: two
lines
Answer: 2

--- task ---
Task: {question}
Results: {results}
Answer:
"""
T = ToolSpec("add", "Adds.", {"properties": {"a": {}, "b": {}}})
LINE = "add(a, b): Adds."
PROMPT = parse_prompt(TEXT, frozenset({"question", "results"}))


def test_raw_text() -> None:
    assert PROMPT.prefix([T]) == f"Do it well.\n{LINE}\n\nTask: one\nAnswer: 1\n\nTask: two\nlines\nAnswer: 2"
    assert PROMPT.fill({"question": "q", "results": "3; 4"}) == "Task: q\nResults: 3; 4\nAnswer:"


def test_a_line_of_empty_fields_is_left_out_and_fields_are_not_filled_twice() -> None:
    assert PROMPT.fill({"question": "{results}", "results": ""}) == "Task: {results}\nAnswer:"


def test_examples_become_messages() -> None:
    pairs = ("Task: one\nAnswer:", "1", "Task: two\nlines\nAnswer:", "2")
    roles = ("user", "assistant") * 2
    expected = [Message("system", f"Do it well.\n{LINE}"), *map(Message, roles, pairs), Message("user", "now")]
    assert list(PROMPT.messages([T], "now", list_tools=True)) == expected
    assert PROMPT.messages([T], "now", examples=False) == (expected[0], expected[-1])


def test_tools_are_appended_only_where_the_prompt_does_not_show_them() -> None:
    plain = parse_prompt("Choose.\n--- task ---\nTool:", frozenset())
    assert plain.messages([T], "now", list_tools=True)[0] == Message("system", f"Choose.\n\nTools:\n{LINE}")
    assert plain.messages([], "now", list_tools=True)[0] == Message("system", "Choose.")


def test_arguments_are_described_one_a_line() -> None:
    properties = {"a": {"type": "number", "description": "How\n many."}, "b": {}, "c": {"type": "string"}}
    tool = ToolSpec("f", "", {"properties": properties, "required": ["a"]})
    assert arguments(tool) == "a (number): How many.\nb (optional): \nc (string, optional): "
    assert arguments(ToolSpec("g", "", {})) == ""


def test_an_example_about_tools_is_shown_where_the_task_offers_them() -> None:
    text = "@add\nQ: one\nA: 1\n\n@add times\nQ: both\nA: 2\n\n@\nQ: none\nA: 0\n\nQ: any\nA: 3\n--- task ---\nA:"
    prompt = parse_prompt(text, frozenset())
    times = ToolSpec("times", "", {})
    assert prompt.prefix([]) == "Q: none\nA: 0\n\nQ: any\nA: 3"
    assert prompt.prefix([T]) == "Q: one\nA: 1\n\nQ: any\nA: 3"
    assert prompt.prefix([times, T]) == "Q: one\nA: 1\n\nQ: both\nA: 2\n\nQ: any\nA: 3"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Task: {question}", "exactly one line '--- task ---'"),
        ("a\n--- task ---\nb\n--- task ---\nc", "exactly one line"),
        ("a\n--- task ---", "nothing stands below"),
        ("a\n--- task ---\n{quest}\nA:", "unknown field {quest}; fields are question"),
        ("a\n--- task ---\nTask: {question}", "takes no field"),
    ],
)
def test_refuses(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text(text)
    with pytest.raises(ConfigError, match=r"policy\.txt") as error:
        load_prompts(tmp_path, ["policy"], frozenset({"question"}))
    assert problem in str(error.value)


def test_names_every_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load_prompts(tmp_path, MODULES, FIELDS)
    assert [problem.split("/")[-1].split(" ")[0] for problem in error.value.problems] == [f"{m}.txt" for m in MODULES]
    with pytest.raises(ConfigError, match="is not a folder"):
        load_prompts(tmp_path / "none", MODULES, FIELDS)


def test_shipped_prompts_hold_examples() -> None:
    shipped = load_prompts(PROMPTS, MODULES, FIELDS) | load_prompts(react.PROMPTS, react.MODULES, react.FIELDS)
    tools = [tool.spec for tool in make_tools().values()]
    for name, prompt in shipped.items():
        messages = prompt.messages(tools, "now")
        roles = [m.role for m in messages if m.role != "system"]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"], name
        assert len(roles) > 2, name
        assert all(m.content for m in messages)


def _sections() -> list[ToolSpec]:
    return [tool.spec for tool in search_tools(make_world(0, "train"), sections=True).values()]


@pytest.mark.parametrize("offered", [_sections(), [dataclasses.replace(_sections()[0], name="search")]])
def test_prompts_of_qa_hold_examples_of_its_tools_and_of_no_others(offered: list[ToolSpec]) -> None:
    sets = (PROMPTS.parent / "qa", MODULES, FIELDS), (react.PROMPTS.parent / "qa", react.MODULES, react.FIELDS)
    names = {tool.name for tool in offered}
    for folder, modules, fields in sets:
        for module, prompt in load_prompts(folder, modules, fields).items():
            text = prompt.prefix(offered)
            assert len(text.split(prompt.template[-1])) > 2, module
            assert set(re.findall(r"(\w+)\(", text)) <= names
            if module == "selector":
                assert set(re.findall(r"Tool: (\w+)", text)) == names


def test_prompts_of_qa_hold_nothing_that_its_questions_do() -> None:
    folders = (PROMPTS.parent / "qa", react.PROMPTS.parent / "qa")
    text = "\n".join(path.read_text() for folder in folders for path in folder.glob("*.txt"))
    tokens = set(re.findall(r"\w+", text))
    assert {split_of(int(token)) for token in tokens if token.isdecimal()} == {"train"}
    pools = [pool for name, pool in vars(qa_names).items() if name.isupper() and name != "FORMS"]
    assert not tokens & {word for pool in pools for words in pool.values() for word in words}


def test_shipped_prompts_hold_nothing_of_validation_and_heldout() -> None:
    texts = [path.read_text() for folder in (PROMPTS, react.PROMPTS) for path in folder.glob("*.txt")]
    # A date counts as its year, as in the splits themselves.
    tokens = set(re.findall(r"\d+|[A-Za-z]+", re.sub(r"(\d{4})-\d\d-\d\d", r"\1", "\n".join(texts))))
    foreign = {number for number in tokens if number.isdecimal() and split_of(int(number)) != "train"}
    for words in (WORDS, NAMES, THINGS, TABLES):
        foreign |= tokens & {word for split in ("validation", "heldout") for word in words[split]}
    assert not foreign
