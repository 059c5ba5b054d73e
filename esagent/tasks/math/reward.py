"""The reward of a tool-using mathematics episode, after CoPES (arXiv 2608.02391).

R = answer + 0.1 tool + format, in [-1, 1.1]:

    answer   1 when the answer is right
    tool     1 when it is right and at least one tool call ran
    format   0 when the answer stands boxed, marked or alone and every tool call could be read; -0.5 when the answer
             had to be looked for in prose, or a call could not be read; -1 when there is no answer

The paper gives the values of `format` but not what they are for; that part is our definition. An episode's reward lies
in [0, 1] here and junk earns 0, so there are two ways to report R, and the plain answer:

    graded   max(0, R) / 1.1. Equal to R up to scale for every right answer; all wrong answers earn 0.
    copes    (R + 1) / 2.1, affine in R: z-scored rewards, and so the steps of an evolution strategy, are the paper's.
    answer   the answer alone, as benchmarks report it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esagent.core.episode import Score, Trajectory

REWARDS = ("graded", "copes", "answer")

TOOL_BONUS = 0.1
PROSE, NO_ANSWER = -0.5, -1.0
_BEST, _WORST = 1.0 + TOOL_BONUS, NO_ANSWER

_UNJUDGED = frozenset({"planner", "selector"})
"""Modules whose own work nothing in these tasks can verify: there is no gold plan, and one tool to select."""


@dataclass(frozen=True)
class Parts:
    """The terms of R."""

    answer: float
    tool: float
    format: float

    @property
    def total(self) -> float:
        """R."""
        return self.answer + TOOL_BONUS * self.tool + self.format


def parts(right: bool, plain: bool | None, trajectory: Trajectory) -> Parts:
    """The terms of R. plain: how the answer stood (reading.py), None for no answer."""
    calls = [turn for turn in trajectory.turns if turn.call is not None]
    ran = any(turn.call and not turn.call.error and turn.result and turn.result.ok for turn in calls)
    unread = any(turn.call and turn.call.error for turn in calls)
    form = NO_ANSWER if plain is None else 0.0 if plain and not unread else PROSE
    return Parts(float(right), float(right and ran), form)


def reward(found: Parts, kind: str) -> float:
    """`found` as a reward in [0, 1]; 1 for the best R, or with kind="answer" for every right answer."""
    if kind == "answer":
        return found.answer
    if kind == "copes":
        return (found.total - _WORST) / (_BEST - _WORST)
    return max(0.0, found.total) / _BEST


def scored(found: Parts, kind: str, trajectory: Trajectory, faithful: bool) -> Score:
    """The score of an episode.

    faithful: whether the answer is what the last tool call gave. Signals: of a caller the share of its calls that ran;
    of a synthesizer 1 when its answer is right, or is what it was given; of a single policy the reward.
    """
    value = reward(found, kind)
    success = value == 1.0
    signals: dict[str, float] = {}
    for module in sorted({turn.module for turn in trajectory.turns} - _UNJUDGED):
        if module == "caller":
            calls = [turn for turn in trajectory.turns if turn.module == module]
            signals[module] = sum(bool(turn.result and turn.result.ok) for turn in calls) / len(calls)
        elif module == "synthesizer":
            signals[module] = max(found.answer, float(faithful))
        else:
            signals[module] = value
    return Score(value, signals, "" if success else _reason(found), success)


def _reason(found: Parts) -> str:
    reasons: Mapping[str, bool] = {
        "no answer": found.format == NO_ANSWER,
        "wrong answer": not found.answer,
        "right answer, badly formed": found.format < 0,
    }
    return next((reason for reason, holds in reasons.items() if holds), "right answer, no tool used")
