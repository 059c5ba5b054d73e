"""What families of several tool calls grade alike: an episode as hops, its parts as a reward, and who was to blame.

Reward, weights by default plan .1, tools .25, arguments .25, answer .4, with n gold hops:

    plan       1 when the plan has one right step per hop and the first tool is right
    tools      hops before the first wrong tool / max(n, hops made)
    arguments  mean over the n gold hops of the share of the call that was right; 0 from the first wrong tool on
    answer     1 when the final answer is right and follows from the whole gold chain, really executed

A single-policy agent has no plan; the other weights are scaled to sum to 1 and a failed call that it corrected with its
next one is not held against it. The reward is 1 only when everything is right, and an empty or junk episode gets
exactly 0: the plan counts only with a right tool, and the answer only with the calls that it must follow from, so
guessing, copying the question or listing every number earns nothing.

Signals follow the blame rules of EvoTool (arXiv 2603.04900), earliest causal mistake first:

    planner      share of the plan that is right: too short, too long and wrong steps all count
    selector     share of its choices that were right, up to the first wrong one; a wrong choice for a wrong step is
                 not its mistake, and not counted
    caller       mean share over the hops whose tool was right, given the results it was shown
    synthesizer  1 when its answer is what the last result says (of the gold chain: the gold answer)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from esagent.core.episode import Score, ToolCall, ToolResult, Trajectory
from esagent.errors import ConfigError

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
    """An episode's hops against the gold ones.

    hops: how many tools were right before the first wrong one. shares: of the call that was right, for those of these
    hops that can be judged. answer: whether the final answer is the gold one. faithful: whether it is what the last
    result says; None when that result says nothing of the sort.
    """

    hops: int
    shares: tuple[float, ...]
    answer: bool
    faithful: bool | None


def planned(trajectory: Trajectory) -> bool:
    """Whether a planner took part; otherwise one policy did everything."""
    return any(turn.module == "planner" for turn in trajectory.turns)


def grade(
    trajectory: Trajectory,
    gold: int,
    steps: Sequence[bool],
    hops: Sequence[Hop],
    judged: Judged,
    weights: Weights,
) -> Score:
    """Reward and signals. gold: hops of the gold chain. steps: which of the first `gold` planned steps are right."""
    modules = {turn.module for turn in trajectory.turns}
    chain_right = judged.shares == (1.0,) * gold
    parts = {
        "plan": float(len(trajectory.plan) == gold and all(steps) and judged.hops > 0),
        "tools": judged.hops / max(gold, len(hops)),
        "arguments": sum(judged.shares) / gold,
        "answer": float(judged.answer and chain_right),
    }
    counted = [name for name in parts if planned(trajectory) or name != "plan"]
    total = sum(getattr(weights, name) for name in counted)
    success = all(parts[name] == 1.0 for name in counted)
    reward = 1.0 if success else sum(getattr(weights, name) * parts[name] for name in counted) / total

    if planned(trajectory):
        signals = _signals(steps, max(len(trajectory.plan), gold), gold, hops, judged)
        if "synthesizer" in modules and (chain_right or judged.faithful is not None):
            signals["synthesizer"] = float(judged.answer if chain_right else bool(judged.faithful))
        signals = {name: signal for name, signal in signals.items() if name in modules}
        order: Sequence[str] = MODULES
    else:
        order = sorted(modules)
        signals = dict.fromkeys(order, reward)
    failing = next((name for name in order if signals.get(name, 1.0) < 1.0), "")
    return Score(reward, signals, "" if success else failing or "no answer", success)


def hops_of(trajectory: Trajectory, tools: Collection[str]) -> list[Hop]:
    """Tool uses in order: each selector turn begins one, and the next caller turn belongs to it.

    tools: names of those on offer.
    """
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
    if not planned(trajectory):
        hops = [hop for hop in hops[:-1] if hop.result is not None and hop.result.ok] + hops[-1:]
    return hops


def _named(text: str, tools: Collection[str]) -> str:
    """The tool that the first word of a selector's text names, in any case; "" for none."""
    words = text.casefold().split()
    first = words[0].strip("\"'`.,:;()*") if words else ""
    return next((name for name in tools if name.casefold() == first), "")


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


def read_weights(given: Mapping[str, float]) -> Weights:
    """`task.options.weights`. Raises ConfigError for parts that there are not, and shares that do not sum to 1."""
    known = [field.name for field in dataclasses.fields(Weights)]
    if not isinstance(given, Mapping):
        raise ConfigError(f"task.options.weights: a share for each of {', '.join(known)} is needed, not {given!r}")
    problems = [f"task.options.weights: no part {n!r}; parts are {', '.join(known)}" for n in given if n not in known]
    if problems:
        raise ConfigError(*problems)
    weights = Weights(**given)
    shares = dataclasses.astuple(weights)
    if not all(isinstance(share, (int, float)) for share in shares):
        raise ConfigError(f"task.options.weights: must be numbers, not {weights}")
    if min(shares) < 0 or not math.isclose(sum(shares), 1.0) or weights.answer == 0:
        raise ConfigError(f"task.options.weights: must be >= 0, sum to 1 and give the answer a share, not {weights}")
    return weights
