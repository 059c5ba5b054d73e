"""Score of a question about a generated world; reward and signals are those of esagent.tasks.grading.

    selector     names the section that holds the article of its hop
    caller       its query finds the article: 1; otherwise half the share of the name's words that it holds
    synthesizer  its answer is what the last article found says

The article of a hop is the one about what the article found before it gave, so that a caller or synthesizer is not
blamed for what it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import Score, Task, Trajectory
from esagent.tasks.grading import Hop, Judged, Weights, grade, hops_of
from esagent.tasks.qa.answers import exact_match
from esagent.tasks.qa.plans import right_steps
from esagent.tasks.qa.world import World
from esagent.tools.base import ToolError
from esagent.tools.search import words
from esagent.tools.values import text


def score_episode(task: Task, trajectory: Trajectory, world: World, weights: Weights) -> Score:
    """Score one episode of a task of `world`."""
    gold = task.payload["calls"]
    hops = hops_of(trajectory, [tool.name for tool in task.tools])
    right, shares = _judge(task.payload, hops, world)
    said = _said(task.payload["chain"][-1], hops, world)
    judged = Judged(
        hops=right,
        shares=shares,
        answer=exact_match(trajectory.answer, [task.payload["answer"]]) == 1.0,
        faithful=None if said is None else exact_match(trajectory.answer, [said]) == 1.0,
    )
    return grade(trajectory, len(gold), right_steps(trajectory.plan, task.payload["steps"]), hops, judged, weights)


def found_title(world: World, hop: Hop) -> str | None:
    """Title of the article that a tool use brought up, None for none."""
    call = hop.call
    if call is None or call.error or hop.result is None or not hop.result.ok or call.name not in world.indices:
        return None
    found = world.indices[call.name].find(_query(call.arguments))
    return found[0].title if found else None


def _judge(payload: Mapping[str, Any], hops: Sequence[Hop], world: World) -> tuple[int, tuple[float, ...]]:
    """Right tools before the first wrong one, and the share of each query that can be judged."""
    right, shares = 0, []
    thing: str | None = payload["start"]
    for wanted, relation, hop in zip(payload["calls"], payload["chain"], hops, strict=False):
        if hop.chosen != wanted["name"]:
            break
        right += 1
        title = None if thing is None else world.article(relation, thing)
        found = found_title(world, hop) if hop.call is not None and hop.call.name == wanted["name"] else None
        if thing is not None and title is not None:
            shares.append(1.0 if found == title else _share(thing, hop))
        thing = None if found is None else world.value(relation, found)
    return right, tuple(shares)


def _share(thing: str, hop: Hop) -> float:
    """Half the share of the name's words that a query holds which found another article, or none."""
    if hop.call is None or hop.call.error:
        return 0.0
    wanted = set(words(thing))
    return 0.5 * len(wanted & set(words(_query(hop.call.arguments)))) / len(wanted)


def _said(relation: str, hops: Sequence[Hop], world: World) -> str | None:
    """What the article that was found last says of the relation asked for; None when it says nothing of it."""
    title = found_title(world, hops[-1]) if hops else None
    return None if title is None else world.value(relation, title)


def _query(arguments: Mapping[str, Any]) -> str:
    """The query as the search tool reads it; "" where it would refuse it."""
    try:
        return text(arguments.get("query"))
    except ToolError:
        return ""
