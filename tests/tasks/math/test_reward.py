"""R and what is reported of it, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from esagent.core.episode import Completion, Score, Task, ToolCall, ToolResult, Trajectory, Turn
from esagent.tasks.math import MathFamily

RAN = (ToolCall("python", {"code": "6 * 7"}), ToolResult(True, "42"))
FAILED = (ToolCall("python", {"code": "6 * "}), ToolResult(False, "SyntaxError"))
BROKEN = (ToolCall("", error="no tool call"), ToolResult(False, "no tool call"))


def _episode(answer: str, *calls: tuple[ToolCall, ToolResult], module: str = "policy") -> Trajectory:
    turns = [Turn(module, "", Completion(""), call, result) for call, result in calls]
    last = "synthesizer" if module == "caller" else module
    return Trajectory((*turns, Turn(last, "", Completion(answer))), answer)


TASK = Task("t", "math", "train", "What is 6 times 7?", (), {"answer": "42", "code": "6 * 7"})


@pytest.mark.parametrize(
    ("answer", "calls", "total"),
    [
        ("42", (RAN,), 1.1),
        (r"\boxed{42}", (FAILED, RAN), 1.1),
        ("42", (), 1.0),
        ("42", (FAILED,), 1.0),
        ("I am quite sure that the result is 42 here.", (RAN,), 0.6),
        ("42", (BROKEN, RAN), 0.6),
        ("42", (BROKEN,), 0.5),
        ("41", (RAN,), 0.0),
        ("41", (BROKEN, RAN), -0.5),
        ("I am quite sure that the result is 41 here.", (), -0.5),
        ("", (RAN,), -1.0),
        ("either 41 or 42 as far as I know", (RAN,), -1.0),
        ("What is 6 times 7?", (RAN,), -1.0),
    ],
)
def test_the_reward_of_the_paper(answer: str, calls: tuple[tuple[ToolCall, ToolResult], ...], total: float) -> None:
    scores = {
        kind: MathFamily(reward=kind).score(TASK, _episode(answer, *calls)) for kind in ("graded", "copes", "answer")
    }
    assert scores["copes"].reward == pytest.approx((total + 1) / 2.1)
    assert scores["graded"].reward == pytest.approx(max(0, total) / 1.1)
    assert scores["answer"].reward == float(total >= 0.5)
    assert [score.success for score in scores.values()] == [total == 1.1, total == 1.1, total >= 0.5]
    assert scores["graded"].signals == {"policy": scores["graded"].reward}


def test_reasons() -> None:
    family = MathFamily()

    def reason(answer: str, *calls: tuple[ToolCall, ToolResult]) -> str:
        return family.score(TASK, _episode(answer, *calls)).reason

    assert reason("42", RAN) == ""
    assert reason("42") == "right answer, no tool used"
    assert reason("42", BROKEN, RAN) == "right answer, badly formed"
    assert reason("41", RAN) == "wrong answer"
    assert reason("", RAN) == "no answer"


@pytest.mark.parametrize(
    ("answer", "calls", "signals"),
    [
        ("42", (RAN,), {"caller": 1.0, "synthesizer": 1.0}),
        ("42", (FAILED, RAN), {"caller": 0.5, "synthesizer": 1.0}),
        ("41", (RAN,), {"caller": 1.0, "synthesizer": 0.0}),
        ("7", ((RAN[0], ToolResult(True, "7")),), {"caller": 1.0, "synthesizer": 1.0}),
        ("41", (FAILED,), {"caller": 0.0, "synthesizer": 0.0}),
    ],
)
def test_signals_of_modules(
    answer: str, calls: tuple[tuple[ToolCall, ToolResult], ...], signals: dict[str, float]
) -> None:
    assert dict(MathFamily().score(TASK, _episode(answer, *calls, module="caller")).signals) == signals


def test_algebra_is_asked_where_it_takes_some() -> None:
    family = MathFamily()
    task = Task("t", "math", "train", "?", (), {"answer": r"\frac{x+2}{7}", "code": ""})
    assert family.score(task, _episode(r"\boxed{\frac{x}{7}+\frac{2}{7}}", RAN)).reward == 1.0
    assert family.score(task, _episode(r"\boxed{\frac{x}{7}-\frac{2}{7}}", RAN)) == Score(
        0.0, {"policy": 0.0}, "wrong answer"
    )
    family._checker.close()
