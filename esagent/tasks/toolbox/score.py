"""Graded reward and per-module signals of a toolbox episode.

Reward, weights by default plan .1, tools .25, arguments .25, answer .4, with n gold hops:

    plan       1 when the plan has one right step per hop (see plans.py) and the first tool is right
    tools      hops before the first wrong tool / max(n, hops made)
    arguments  mean over the n gold hops of the share of right arguments; 0 from the first wrong tool on
    answer     1 when the final answer is right and follows from the whole gold chain, really executed

A single-policy agent has no plan; the other weights are scaled to sum to 1 and a failed call that it corrected with its
next one is not held against it. The reward is 1 only when everything is right, and an empty or junk episode gets
exactly 0: the plan counts only with a right tool, and the answer only with the calls that it must follow from, so
guessing, copying the question or listing every number earns nothing.

Signals follow the blame rules of EvoTool (arXiv 2603.04900), earliest causal mistake first:

    planner      share of the plan that is right: too short, too long and wrong steps all count
    selector     share of its choices that were right, up to the first wrong one; a wrong choice for a wrong step is
                 not its mistake, and not counted
    caller       share of right arguments over the hops whose tool was right, given the results it was shown
    synthesizer  1 when its answer is the last result (of the gold chain: the gold answer)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esagent.core.episode import Score, Task, ToolCall, ToolResult, Trajectory
from esagent.tasks.toolbox.answers import matches
from esagent.tasks.toolbox.build import resolve
from esagent.tasks.toolbox.plans import right_steps
from esagent.tools.base import Tool
from esagent.tools.calculator import Expression

MODULES = ("planner", "selector", "caller", "synthesizer")


@dataclass(frozen=True)
class Weights:
    """Shares of the reward; they sum to 1."""

    plan: float = 0.1
    tools: float = 0.25
    arguments: float = 0.25
    answer: float = 0.4


@dataclass(frozen=True)
class Hop:
    """One tool use as the agent made it. `chosen`: the tool that was selected."""

    chosen: str
    call: ToolCall | None = None
    result: ToolResult | None = None


@dataclass(frozen=True)
class Judged:
    """hops: how many tools were right before the first wrong one. shares: of right arguments, for each of these."""

    hops: int
    shares: tuple[float, ...]
    last: ToolResult | None


def score_episode(task: Task, trajectory: Trajectory, tools: Mapping[str, Tool], weights: Weights) -> Score:
    """Score one episode; `tools` are those of the task's environment."""
    gold = task.payload["calls"]
    modules = {turn.module for turn in trajectory.turns}
    planned = "planner" in modules
    hops = _hops(trajectory, tools, drop_corrected=not planned)
    judged = _judge(gold, hops, tools)
    steps = right_steps(trajectory.plan, task.payload["said"])
    plan_right = len(trajectory.plan) == len(gold) and all(steps)
    accepted = [task.payload["answer"], *task.payload["accept"]]
    chain_right = judged.shares == (1.0,) * len(gold)
    answer_right = matches(trajectory.answer, accepted, task.payload["carriers"])

    parts = {
        "plan": float(plan_right and judged.hops > 0),
        "tools": judged.hops / max(len(gold), len(hops)),
        "arguments": sum(judged.shares) / len(gold),
        "answer": float(answer_right and chain_right),
    }
    counted = [name for name in parts if planned or name != "plan"]
    total = sum(getattr(weights, name) for name in counted)
    success = all(parts[name] == 1.0 for name in counted)
    reward = 1.0 if success else sum(getattr(weights, name) * parts[name] for name in counted) / total

    if planned:
        signals = _signals(steps, max(len(trajectory.plan), len(gold)), len(gold), hops, judged)
        if "synthesizer" in modules and judged.last is not None and judged.last.ok:
            faithful = answer_right if chain_right else matches(trajectory.answer, [judged.last.output])
            signals["synthesizer"] = float(faithful)
        signals = {name: signal for name, signal in signals.items() if name in modules}
        order: Sequence[str] = MODULES
    else:
        order = sorted(modules)
        signals = dict.fromkeys(order, reward)
    failing = next((name for name in order if signals.get(name, 1.0) < 1.0), "")
    return Score(reward, signals, "" if success else failing or "no answer", success)


def _hops(trajectory: Trajectory, tools: Mapping[str, Tool], drop_corrected: bool) -> list[Hop]:
    """Tool uses in order: each selector turn begins one, and the next caller turn belongs to it."""
    hops: list[Hop] = []
    waiting = False
    for turn in trajectory.turns:
        name = turn.call.name if turn.call else ""
        if turn.module == "selector":
            hops.append(Hop(_named(turn.completion.text, tools) or name, turn.call, turn.result))
            waiting = turn.call is None
        elif turn.call is not None:
            if waiting:
                hops[-1] = Hop(hops[-1].chosen or name, turn.call, turn.result)
            else:
                hops.append(Hop(name, turn.call, turn.result))
            waiting = False
    if drop_corrected:
        hops = [hop for hop in hops[:-1] if hop.result is not None and hop.result.ok] + hops[-1:]
    return hops


def _named(text: str, tools: Mapping[str, Tool]) -> str:
    """The tool that the first word of a selector's text names, "" for none."""
    words = text.casefold().split()
    first = words[0].strip("\"'`.,:;()*") if words else ""
    return first if first in tools else ""


def _judge(gold: Sequence[Mapping[str, Any]], hops: Sequence[Hop], tools: Mapping[str, Tool]) -> Judged:
    shares: list[float] = []
    results: list[str] = []
    for wanted, hop in zip(gold, hops, strict=False):
        if hop.chosen != wanted["name"]:
            break
        shares.append(_share(wanted, hop, results, tools[wanted["name"]]))
        results.append(hop.result.output if hop.result is not None and hop.result.ok else "")
    return Judged(len(shares), tuple(shares), hops[-1].result if hops else None)


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


def _signals(steps: Sequence[bool], planned: int, gold: int, hops: Sequence[Hop], judged: Judged) -> dict[str, float]:
    """Signals of planner, selector and caller; a module whose own work cannot be judged is absent.

    steps: which planned steps were right. planned: the longer of the plan and the gold plan.
    """
    signals = {"planner": sum(steps) / planned}
    choices = judged.hops
    wrong_choice = judged.hops < min(len(hops), gold)
    if wrong_choice and all(steps[judged.hops : judged.hops + 1]) and judged.hops < len(steps):
        choices += 1
    if choices:
        signals["selector"] = judged.hops / choices
    if judged.shares:
        signals["caller"] = sum(judged.shares) / len(judged.shares)
    return signals
