"""Score of a toolbox episode; reward and signals are those of esagent.tasks.grading.

Of a hop whose tool is right the share is that of its right arguments, given the results it was shown: half an argument
for an expression with the right numbers and a wrong value, and never more than half of a call that did not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import Score, Task, Trajectory
from esagent.tasks.grading import Hop, Judged, Weights, grade, hops_of
from esagent.tasks.toolbox.answers import matches
from esagent.tasks.toolbox.build import resolve
from esagent.tasks.toolbox.plans import right_steps
from esagent.tools.base import Tool
from esagent.tools.calculator import Expression


def score_episode(task: Task, trajectory: Trajectory, tools: Mapping[str, Tool], weights: Weights) -> Score:
    """Score one episode; `tools` are those of the task's environment."""
    gold = task.payload["calls"]
    hops = hops_of(trajectory, tools)
    shares = _shares(gold, hops, tools)
    accepted = [task.payload["answer"], *task.payload["accept"]]
    last = hops[-1].result if hops else None
    judged = Judged(
        hops=len(shares),
        shares=shares,
        answer=matches(trajectory.answer, accepted, task.payload["carriers"]),
        faithful=matches(trajectory.answer, [last.output]) if last is not None and last.ok else None,
    )
    return grade(trajectory, len(gold), right_steps(trajectory.plan, task.payload["said"]), hops, judged, weights)


def _shares(gold: Sequence[Mapping[str, Any]], hops: Sequence[Hop], tools: Mapping[str, Tool]) -> tuple[float, ...]:
    """Of right arguments, for every hop before the first wrong tool."""
    shares: list[float] = []
    results: list[str] = []
    for wanted, hop in zip(gold, hops, strict=False):
        if hop.chosen != wanted["name"]:
            break
        shares.append(_share(wanted, hop, results, tools[wanted["name"]]))
        results.append(hop.result.output if hop.result is not None and hop.result.ok else "")
    return tuple(shares)


def _share(wanted: Mapping[str, Any], hop: Hop, results: Sequence[str], tool: Tool) -> float:
    """Share of the arguments that mean what they should, given the results the caller saw.

    Half an argument for an expression with the right numbers and a wrong value. A call that did not run is never
    fully right.
    """
    call = hop.call
    if call is None or call.error or call.name != wanted["name"]:
        return 0.0
    expected = tool.meanings(resolve(wanted["arguments"], results))
    given = tool.meanings(call.arguments)
    points = sum(_agreement(expected[name], given[name]) for name in expected if name in given)
    share = points / max(len(wanted["arguments"]), len(call.arguments))
    return share if hop.result is not None and hop.result.ok else min(share, 0.5)


def _agreement(expected: Any, given: Any) -> float:
    if expected == given:
        return 1.0
    same_numbers = isinstance(expected, Expression) and expected.numbers == given.numbers
    return 0.5 if same_numbers else 0.0
