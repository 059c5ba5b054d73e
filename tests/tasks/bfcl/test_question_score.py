"""Reward and signals of single questions, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from esagent.core.episode import Completion, Score, Task, ToolCall, ToolResult, ToolSpec, Trajectory, Turn
from esagent.tasks.bfcl.decline import declines
from esagent.tasks.bfcl.environments import QuestionEnvironment
from esagent.tasks.bfcl.family import BfclFamily
from esagent.tasks.bfcl.question_score import score_question

PARAMETERS = {"type": "dict", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}, "required": ["x"]}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}, "required": ["x"]}
TOOLS = tuple(ToolSpec(name, "", SCHEMA) for name in ("Play", "stop.now"))


def task(*calls: tuple[str, int]) -> Task:
    payload = {
        "category": "parallel",
        "calls": [{"name": name, "arguments": {"x": x}} for name, x in calls],
        "accepted": [{"x": [x], "y": ["", "a"]} for _, x in calls],
        "described": {name: PARAMETERS for name, _ in calls},
    }
    return Task("t", "bfcl", "train", "Do it.", TOOLS, payload)


TWO, NONE = task(("Play", 1), ("Play", 2)), task()
Use = tuple[str, dict[str, Any]]


def turn(module: str, text: str, call: ToolCall | None = None) -> Turn:
    result = None
    if call:
        ran = QuestionEnvironment(TOOLS).call(call.name, call.arguments)
        result = ToolResult(False, call.error) if call.error else ran
    return Turn(module, "", Completion(text), call, result)


def modular(about: Task, uses: Sequence[Use], steps: int | None = None, answer: str = "done") -> Score:
    turns = [turn("planner", "")]
    for name, arguments in uses:
        turns += [turn("selector", name.lower()), turn("caller", "", ToolCall(name, arguments))]
    plan = ("step",) * (len(uses) if steps is None else steps)
    return score_question(about, Trajectory((*turns, turn("synthesizer", answer)), answer, plan))


def react(about: Task, uses: Sequence[Use | ToolCall], answer: str = "done") -> Score:
    calls = [use if isinstance(use, ToolCall) else ToolCall(*use) for use in uses]
    return score_question(about, Trajectory(tuple(turn("policy", "", call) for call in calls), answer))


def test_right_calls_in_any_order() -> None:
    score = modular(TWO, [("Play", {"x": 2, "y": "A"}), ("Play", {"x": 1})])
    assert (score.reward, score.success, score.reason) == (1.0, True, "")
    assert score.signals == {"planner": 1.0, "selector": 1.0, "caller": 1.0}
    assert react(TWO, [("Play", {"x": 2}), ("Play", {"x": 1})]).reward == 1.0


def test_a_call_too_few_is_the_planners() -> None:
    score = modular(TWO, [("Play", {"x": 1})])
    assert score.reward == pytest.approx(0.1 / 2 + 0.3 / 2 + 0.6 / 2)
    assert (score.signals, score.reason) == ({"planner": 0.5, "selector": 1.0, "caller": 1.0}, "planner")


def test_a_call_too_many_is_the_planners() -> None:
    score = modular(TWO, [("Play", {"x": 1}), ("Play", {"x": 2}), ("Play", {"x": 2})])
    assert score.reward == pytest.approx(0.1 * 2 / 3 + 0.3 * 2 / 3 + 0.6 * 2 / 3)
    assert (score.signals["planner"], score.reason) == (pytest.approx(2 / 3), "planner")


def test_a_wrong_function_is_the_selectors() -> None:
    score = modular(TWO, [("Play", {"x": 1}), ("stop.now", {"x": 2})])
    assert score.reward == pytest.approx(0.1 + 0.3 / 2 + 0.6 / 2)
    assert (score.signals, score.reason) == ({"planner": 1.0, "selector": 0.5, "caller": 1.0}, "selector")


def test_a_wrong_argument_is_the_callers() -> None:
    score = modular(TWO, [("Play", {"x": 1}), ("Play", {"x": 3})])
    assert score.reward == pytest.approx(0.1 + 0.3 + 0.6 / 2)
    assert (score.signals, score.reason) == ({"planner": 1.0, "selector": 1.0, "caller": 0.5}, "caller")


def test_a_missing_argument_and_a_broken_call_are_the_callers() -> None:
    one = task(("Play", 1))
    turns = (
        turn("planner", ""),
        turn("selector", " play."),
        turn("caller", "", ToolCall("Play", error="Play: missing argument x")),
    )
    score = score_question(one, Trajectory(turns, "", ("step",)))
    assert (score.reward, score.reason) == (pytest.approx(0.4), "caller")
    assert modular(one, [("Play", {})]).signals["caller"] == 0.0


def test_the_best_pairing_counts() -> None:
    both = task(("Play", 1), ("stop.now", 2))
    assert modular(both, [("stop.now", {"x": 2}), ("Play", {"x": 1})]).success
    score = modular(both, [("Play", {"x": 9}), ("Play", {"x": 1})])
    assert (score.signals["selector"], score.signals["caller"]) == (0.5, 1.0)


def test_nothing_right_earns_nothing() -> None:
    for score in (modular(TWO, []), modular(TWO, [("stop.now", {"x": 1})]), react(TWO, []), modular(TWO, [], 2)):
        assert (score.reward, score.success) == (0.0, False)
        assert score.reason


def test_a_single_policy_may_correct_a_failed_call() -> None:
    failed = ToolCall("Play", error="Play: missing argument x")
    assert react(task(("Play", 1)), [failed, ("Play", {"x": 1})]).success
    assert not react(task(("Play", 1)), [("Play", {"x": 1}), failed]).success
    assert react(TWO, [("Play", {"x": 1})]).signals == {"policy": pytest.approx(0.5)}


def test_where_no_function_fits_the_selector_says_none() -> None:
    def chose(*words: str) -> Score:
        turns = [turn("selector", word, ToolCall("", error="no tool")) for word in words]
        return score_question(NONE, Trajectory((turn("planner", ""), *turns), "", ("step",) * len(words)))

    assert (chose(" None").reward, chose("None").signals) == (1.0, {"selector": 1.0})
    assert (chose("none", "blah").reward, chose("none", "blah").signals) == (0.0, {"selector": 0.5})
    assert chose("").reward == chose("blah").reward == 0.0
    called = modular(NONE, [("Play", {"x": 1})], answer="none")
    assert (called.reward, called.reason, called.signals) == (0.0, "selector", {"selector": 0.0})


def test_where_no_function_fits_a_policy_answers_so_at_once() -> None:
    def said(answer: str) -> Score:
        return score_question(NONE, Trajectory((turn("policy", answer),), answer))

    assert said("none").reward == said("I'm sorry, but I cannot do that.").reward == 1.0
    assert said("").reward == said("blah blah").reward == said("42").reward == 0.0
    assert react(NONE, [("Play", {"x": 1})], "none").reward == 0.0
    assert react(NONE, [ToolCall("", error="no tool named 'bake'")], "none").reward == 0.0


@pytest.mark.parametrize(
    "text", ["None.", "no tool fits", "No suitable function", "None of the tools helps", "I can't"]
)
def test_refusals(text: str) -> None:
    assert declines(text)


def test_no_question_without_a_fitting_function_reads_like_a_refusal() -> None:
    family = BfclFamily(["irrelevance"])
    for split, n in (("train", 41), ("validation", 55), ("heldout", 144)):
        assert not [t.id for t in family.tasks(split, 0, n) if declines(t.prompt)]
