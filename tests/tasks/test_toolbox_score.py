"""Reward and signals of hand-made episodes, against hand-computed numbers."""

from collections.abc import Sequence

import pytest

from esagent.core.episode import Completion, Score, Task, ToolCall, ToolResult, Trajectory, Turn
from esagent.tasks.toolbox import ToolboxFamily
from esagent.tools.registry import TOOL_NAMES, make_tools

FAMILY = ToolboxFamily("medium")
SPECS = tuple(tool.spec for tool in make_tools(TOOL_NAMES).values())


def _gold(name: str, arguments: dict, resolved: dict, result: str) -> dict:
    return {"name": name, "arguments": arguments, "resolved": resolved, "result": result}


_CONVERT = {"value": 5, "from": "kilometers", "to": "meters"}
_SUBTRACT = {"expression": "$1 - 20"}
TASK = Task(
    id="hand-made",
    family="toolbox",
    split="train",
    prompt="First convert 5 kilometers to meters, then subtract 20 from it.",
    tools=SPECS,
    payload={
        "plan": ["convert 5 kilometers to meters", "subtract 20 from it"],
        "said": [["5", "kilometers", "meters"], ["20"]],
        "calls": [
            _gold("convert", _CONVERT, _CONVERT, "5000"),
            _gold("calculator", _SUBTRACT, {"expression": "5000 - 20"}, "4980"),
        ],
        "answer": "4980",
        "accept": [],
        "carriers": ["meters"],
        "tables": {},
    },
)
PLAN = ("convert 5 kilometers to meters", "subtract 20 from it")
RIGHT = [("convert", {"value": "5", "from": "km", "to": "m"}), ("calculator", {"expression": "5000-20"})]

Calls = Sequence[tuple[str, dict]]


def _run(name: str, arguments: dict) -> ToolResult:
    return FAMILY.env(TASK).call(name, arguments)


def _modular(plan: Sequence[str], calls: Calls, answer: str, chosen: Sequence[str] | None = None) -> Score:
    turns = [Turn("planner", "", Completion("; ".join(plan)))]
    for at, (name, arguments) in enumerate(calls):
        turns.append(Turn("selector", "", Completion((chosen or [n for n, _ in calls])[at])))
        turns.append(Turn("caller", "", Completion(""), ToolCall(name, arguments), _run(name, arguments)))
    turns.append(Turn("synthesizer", "", Completion(answer)))
    return FAMILY.score(TASK, Trajectory(tuple(turns), answer, tuple(plan)))


def _react(calls: Calls, answer: str) -> Score:
    turns = [Turn("policy", "", Completion(""), ToolCall(n, a), _run(n, a)) for n, a in calls]
    return FAMILY.score(TASK, Trajectory((*turns, Turn("policy", "", Completion(answer))), answer))


def test_fully_right() -> None:
    score = _modular(PLAN, RIGHT, "4980 meters")
    assert (score.reward, score.success, score.reason) == (1.0, True, "")
    assert score.signals == {"planner": 1.0, "selector": 1.0, "caller": 1.0, "synthesizer": 1.0}


@pytest.mark.parametrize(
    ("plan", "share"),
    [
        (("Turn 5 Kilometers into Meters.", "take 20 away"), 1.0),
        (("convert 5 kilometers to meters", "subtract from it"), 0.5),  # drops its number
        (("convert 5 kilometers to meters", "subtract 20 from 5"), 0.5),  # names what belongs to the other step
        (("convert 5 kilometers to meters, then subtract 20", "subtract 20"), 0.5),
        (("subtract 20 from it", "convert 5 kilometers to meters"), 0.0),
        (("convert 50 kilometers to meters", "subtract 20 from it"), 0.5),
        ((), 0.0),
    ],
)
def test_a_step_is_judged_by_what_it_names(plan: tuple[str, ...], share: float) -> None:
    score = _modular(plan, RIGHT, "4980")
    assert score.signals["planner"] == share
    assert score.success == (share == 1.0)
    assert score.reward == pytest.approx(1.0 if share == 1.0 else 0.9)


def test_wrong_answer_alone() -> None:
    score = _modular(PLAN, RIGHT, "498")
    assert score.reward == pytest.approx(0.6)
    assert (score.success, score.reason) == (False, "synthesizer")


def test_short_plan() -> None:
    score = _modular(PLAN[:1], RIGHT[:1], "5000")
    assert score.reward == pytest.approx(0.25 / 2 + 0.25 / 2)
    assert score.reason == "planner"
    assert score.signals == {"planner": 0.5, "selector": 1.0, "caller": 1.0, "synthesizer": 1.0}


def test_long_plan_costs_the_plan_and_a_part_of_the_tools() -> None:
    extra = ("calculator", {"expression": "4980 + 0"})
    score = _modular((*PLAN, "add 0"), [*RIGHT, extra], "4980")
    assert score.reward == pytest.approx(0.25 * 2 / 3 + 0.25 + 0.4)
    assert score.signals["planner"] == pytest.approx(2 / 3)
    assert (score.success, score.reason) == (False, "planner")


def test_nothing_counts_after_the_first_wrong_tool() -> None:
    score = _modular(PLAN, [("text", {"operation": "upper", "string": "a"}), RIGHT[1]], "4980")
    assert score.reward == 0.0
    assert score.reason == "selector"
    assert score.signals["selector"] == 0.0
    assert "caller" not in score.signals


def test_wrong_second_tool() -> None:
    score = _modular(PLAN, [RIGHT[0], ("list", {"operation": "max", "items": "5000, 20"})], "4980")
    assert score.reward == pytest.approx(0.1 + 0.25 / 2 + 0.25 / 2)
    assert score.signals["selector"] == 0.5
    assert score.signals["caller"] == 1.0


def test_a_selector_that_follows_a_wrong_plan_is_not_blamed() -> None:
    score = _modular(
        ("write a in capitals", "subtract 20 from it"), [("text", {"operation": "upper", "string": "a"}), RIGHT[1]], "A"
    )
    assert score.reason == "planner"
    assert "selector" not in score.signals


def test_share_of_arguments() -> None:
    wrong_unit = ("convert", {"value": 5, "from": "kilometers", "to": "feet"})
    score = _modular(PLAN, [wrong_unit, RIGHT[1]], "4980")
    # The second call does not go on from the result its caller was shown, 16404.199475 feet.
    assert score.signals["caller"] == pytest.approx((2 / 3 + 0) / 2)
    assert score.reward == pytest.approx(0.1 + 0.25 + 0.25 * (2 / 3) / 2)
    assert score.reason == "caller"


def test_a_later_caller_is_judged_by_the_result_it_saw() -> None:
    off = ("convert", {"value": 6, "from": "kilometers", "to": "meters"})
    score = _modular(PLAN, [off, ("calculator", {"expression": "6000 - 20"})], "5980")
    assert score.signals["caller"] == pytest.approx((2 / 3 + 1) / 2)
    assert score.signals["synthesizer"] == 1.0
    assert score.reward == pytest.approx(0.1 + 0.25 + 0.25 * (2 / 3 + 1) / 2)


def test_a_right_answer_counts_only_after_the_right_calls() -> None:
    off = ("convert", {"value": 6, "from": "kilometers", "to": "meters"})
    assert _modular(PLAN, [off, RIGHT[1]], "4980").reward < 0.6


def test_an_expression_with_the_right_numbers_is_half_right() -> None:
    score = _modular(PLAN, [RIGHT[0], ("calculator", {"expression": "5000 + 20"})], "5020")
    assert score.signals["caller"] == pytest.approx(0.75)


def test_the_result_written_instead_of_the_work_is_no_argument() -> None:
    assert _modular(PLAN, [RIGHT[0], ("calculator", {"expression": "4980"})], "4980").signals["caller"] == 0.5


def test_a_call_that_could_not_be_read() -> None:
    turns = (
        Turn("planner", "", Completion("")),
        Turn("selector", "", Completion(" Convert.")),
        Turn("caller", "", Completion("?"), ToolCall("", error="no call"), ToolResult(False, "no call")),
        Turn("synthesizer", "", Completion("4980")),
    )
    score = FAMILY.score(TASK, Trajectory(turns, "4980", PLAN))
    assert score.reward == pytest.approx(0.1 + 0.25 / 2)
    assert score.signals == {"planner": 1.0, "selector": 1.0, "caller": 0.0}
    assert score.reason == "caller"


def test_an_unknown_tool_is_the_selectors_mistake() -> None:
    error = ToolCall("", error="no tool named 'magic'")
    turns = (
        Turn("planner", "", Completion("")),
        Turn("selector", "", Completion("magic"), error, ToolResult(False, "no tool named 'magic'")),
        Turn("synthesizer", "", Completion("4980")),
    )
    score = FAMILY.score(TASK, Trajectory(turns, "4980", PLAN))
    assert (score.reward, score.reason) == (0.0, "selector")


def test_the_selector_is_judged_by_what_it_named() -> None:
    score = _modular(PLAN, RIGHT, "4980", chosen=("text", "calculator"))
    assert score.signals["selector"] == 0.0
    assert score.reward == 0.0


def test_react_needs_no_plan() -> None:
    score = _react(RIGHT, "4980")
    assert (score.reward, score.success) == (1.0, True)
    assert score.signals == {"policy": 1.0}


def test_react_weights_are_scaled_to_one() -> None:
    assert _react(RIGHT, "1").reward == pytest.approx(0.5 / 0.9)
    assert _react(RIGHT[:1], "5000").reward == pytest.approx(0.25 / 0.9)


def test_react_may_correct_a_failed_call() -> None:
    failed = ("convert", {"value": 5, "from": "kilometers"})
    assert _react([failed, *RIGHT], "4980").success


def test_react_pays_for_calls_it_did_not_need() -> None:
    score = _react([*RIGHT, RIGHT[1]], "4980")
    assert not score.success
    assert score.reward == pytest.approx((0.25 * 2 / 3 + 0.25 + 0.4) / 0.9)


def test_weights_are_settings() -> None:
    family = ToolboxFamily("medium", weights={"plan": 0.0, "tools": 0.0, "arguments": 0.0, "answer": 1.0})
    turns = [Turn("policy", "", Completion(""), ToolCall(n, a), _run(n, a)) for n, a in RIGHT]
    assert family.score(TASK, Trajectory(tuple(turns), "1")).reward == 0.0
    assert family.score(TASK, Trajectory(tuple(turns), "4980")).reward == 1.0
