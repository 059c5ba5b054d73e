"""Reward and signals of an episode about a single question.

With n calls to be made, found among those made in any order (match.py), the reward is, for an agent with a planner,

    0.1 count + 0.3 functions + 0.6 arguments

    count      how near the number of planned steps is to n: the smaller over the larger of both
    functions  right functions / max(n, calls made)
    arguments  sum over the right functions of their share of right arguments (accepted.py) / max(n, calls made)

and 0 without one right function; other agents have no count, and the rest is scaled to 1. It is 1 only, and always,
when the leaderboard's own checker would pass the calls. A failed call that a single policy corrected with its next one
is not held against it.

Where no function fits the question, the reward is 1 for making no call and saying so (decline.py), and 0 otherwise:
saying just anything is not enough, though the leaderboard takes it.

Signals: planner, count; selector, right functions / min(n, calls made); caller, mean share of right arguments over the
right functions. Where nothing is to be called, the selector's is the share of steps for which it named nothing. The
functions have no implementation, so the text of the last answer cannot be judged, nor the synthesizer that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping

from esagent.core.episode import Score, Task, Trajectory
from esagent.tasks.bfcl.accepted import right_arguments
from esagent.tasks.bfcl.decline import declines
from esagent.tasks.bfcl.match import Matched, match
from esagent.tasks.grading import Hop, hops_of

COUNT, FUNCTIONS, ARGUMENTS = 0.1, 0.3, 0.6


def score_question(task: Task, trajectory: Trajectory) -> Score:
    """Score one episode about a single question."""
    modules = {turn.module for turn in trajectory.turns}
    planned = "planner" in modules
    hops = hops_of(trajectory, [tool.name for tool in task.tools])
    if not task.payload["calls"]:
        return _nothing_to_call(trajectory, hops, modules)
    matched = match_calls(task, hops)
    plan = len(trajectory.plan)
    count = min(plan, matched.wanted) / max(plan, matched.wanted)
    reward = graded(matched, count if planned else None)
    signals = module_signals(matched, count)
    reason = blame(matched, signals if planned else {}, "no call" if not hops else "calls")
    return Score(
        reward, reached(signals if planned else dict.fromkeys(modules, reward), modules), reason, matched.right
    )


def match_calls(task: Task, hops: list[Hop]) -> Matched:
    """The calls of `hops` against the right ones of `task`."""
    calls, accepted, described = (task.payload[part] for part in ("calls", "accepted", "described"))

    def share(i: int, hop: Hop) -> float:
        name = calls[i]["name"]
        if hop.call is None or hop.call.error or hop.call.name != name:
            return 0.0
        return right_arguments(accepted[i], hop.call.arguments, described[name])

    return match([call["name"] for call in calls], hops, share)


def graded(matched: Matched, count: float | None) -> float:
    """The reward of matched calls. count: that of the planner; None without one."""
    if matched.right:
        return 1.0
    if not matched.shares:
        return 0.0
    calls = FUNCTIONS * matched.chosen + ARGUMENTS * matched.arguments
    return calls / (FUNCTIONS + ARGUMENTS) if count is None else COUNT * count + calls


def module_signals(matched: Matched, count: float) -> dict[str, float]:
    """Signals of planner, selector and caller; one whose work cannot be judged is absent."""
    signals = {"planner": count}
    if matched.made:
        signals["selector"] = len(matched.shares) / min(matched.wanted, matched.made)
    if matched.shares:
        signals["caller"] = sum(matched.shares) / len(matched.shares)
    return signals


def blame(matched: Matched, signals: Mapping[str, float], otherwise: str) -> str:
    """Why an episode is not fully right: the first module whose signal is below 1, or `otherwise`; "" if it is."""
    if matched.right:
        return ""
    return next((name for name, signal in signals.items() if signal < 1), otherwise)


def reached(signals: Mapping[str, float], modules: set[str]) -> dict[str, float]:
    """The signals of modules that had a turn."""
    return {name: signal for name, signal in signals.items() if name in modules}


def _nothing_to_call(trajectory: Trajectory, hops: list[Hop], modules: set[str]) -> Score:
    """Right when no call was made and the selector (for every step) or the last answer says that nothing fits."""
    chose = [turn for turn in trajectory.turns if turn.module == "selector"]
    called = any(hop.chosen for hop in hops)
    named_nothing = [turn for turn in chose if declines(turn.completion.text)]
    if chose:
        right = not called and len(named_nothing) == len(chose) and len(hops) == len(chose)
        signals = {"selector": len(named_nothing) / len(chose)}
        reason = "selector"
    else:
        right = not hops and declines(trajectory.answer)
        signals = dict.fromkeys(modules, float(right))
        reason = "a call was made" if hops else "no word that nothing fits"
    return Score(float(right), signals, "" if right else reason, right)
