"""One batched decode for all members and all tasks.

A call goes in two phases. *Check*: every job's prompt, followed by its draft (what the centre answered to the same
prompt), runs in one pass; a row whose own greedy tokens agree with the whole draft is finished, the others keep the
part that agrees and their own next token. *Decode*: the rows left go on token by token. Greedy results are those of
token-by-token decoding; a draft only saves time.

Below the lowest searched layer all members are equal. There a batch holds one row per distinct token sequence
(a node); above, one row per job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esagent.backends.hf.choose import Ending, pick
from esagent.backends.hf.jobs import Job, Meter, Outcome, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import KVStore, pack
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.slots import Hooks

_COMPACT_BELOW = 0.75  # copying the rows left costs about as much as computing a quarter of them once more


@dataclass
class Live:
    """Rows in flight: jobs and outcomes, their upper store (a row each), the trunk store and each row's node in it."""

    jobs: list[Job]
    outcomes: list[Outcome]
    upper: KVStore
    trunk: KVStore
    nodes: list[int]


class Engine:
    """Runs jobs on a network. `low` is the lowest searched layer; 0 turns trunk sharing off."""

    def __init__(
        self, network: Network, hooks: Hooks, prefixes: Prefixes, ending: Ending, low: int, meter: Meter
    ) -> None:
        self._net = network
        self._hooks = hooks
        self._prefixes = prefixes
        self._ending = ending
        self._low = low
        self._meter = meter

    def check(self, jobs: Sequence[Job]) -> tuple[list[Outcome], Live | None]:
        """First pass over prompts and drafts. Returns all outcomes, and the rows that did not finish."""
        net = self._net
        node_of: dict[tuple[Tokens, Tokens], int] = {}
        nodes = [node_of.setdefault((j.prefix, j.fed), len(node_of)) for j in jobs]
        keys = list(node_of)
        starts, hidden, trunk = self._trunk_pass(keys)
        counts = [len(j.fed) for j in jobs]
        rows = torch.cat([torch.arange(starts[n], starts[n] + c) for n, c in zip(nodes, counts, strict=True)])
        width = max(len(j.prefix) + len(j.fed) for j in jobs)
        upper = net.store(self._low, net.depth, len(jobs), width)
        self._prefixes.fill_upper(upper, jobs)
        packing = pack([len(j.prefix) for j in jobs], counts, net.groups, net.dtype, net.device)
        slot = torch.tensor([j.slot for j in jobs], device=net.device)[packing.row]
        with self._hooks.tokens(slot):
            states = net.layers_between(hidden[rows.to(net.device)], self._low, net.depth, upper, packing)
        self._meter.upper_tokens += len(rows)
        outcomes = self._compare(jobs, states)
        live = [i for i, (job, out) in enumerate(zip(jobs, outcomes, strict=True)) if not self._ended(job, out)]
        if not live:
            return outcomes, None
        index = torch.tensor(live, device=net.device)
        kept: dict[tuple[int, Tokens], int] = {}
        nodes_live = [kept.setdefault((nodes[i], tuple(outcomes[i].tokens)), len(kept)) for i in live]
        source = torch.tensor([n for n, _ in kept], device=net.device)
        return outcomes, Live(
            [jobs[i] for i in live], [outcomes[i] for i in live], upper.select(index), trunk.select(source), nodes_live
        )

    def _ended(self, job: Job, outcome: Outcome) -> bool:
        return bool(outcome.reason) or self._ending.update(job, outcome)

    def _trunk_pass(self, keys: Sequence[tuple[Tokens, Tokens]]) -> tuple[list[int], Tensor, KVStore]:
        """States [T, hidden] of every node's tokens below the searched layers, and where each node starts."""
        net = self._net
        counts = [len(fed) for _, fed in keys]
        starts = [0]
        for count in counts[:-1]:
            starts.append(starts[-1] + count)
        tokens = torch.tensor([t for _, fed in keys for t in fed], device=net.device)
        hidden = net.embed(tokens)
        trunk = net.store(0, self._low, len(keys), max(len(p) + len(f) for p, f in keys))
        if self._low:
            self._prefixes.fill_trunk(trunk, [p for p, _ in keys])
            packing = pack([len(p) for p, _ in keys], counts, net.groups, net.dtype, net.device)
            hidden = net.layers_between(hidden, 0, self._low, trunk, packing)
            self._meter.trunk_tokens += len(tokens)
        return starts, hidden, trunk

    def _compare(self, jobs: Sequence[Job], states: Tensor) -> list[Outcome]:
        """Each row's own next tokens along its draft, up to and including the first that differs."""
        wanted: list[int] = []
        end = 0
        for job in jobs:
            end += len(job.fed)
            wanted.extend(range(end - max(1, len(job.draft)), end))
        chosen = states[torch.tensor(wanted, device=states.device)]
        self._meter.head_tokens += len(wanted)
        own = self._net.greedy(chosen).tolist()
        outcomes, at = [], 0
        for job in jobs:
            if not job.greedy:
                outcomes.append(Outcome([pick(job, (), self._net.logits(chosen[at : at + 1])[0])]))
                at += 1
                continue
            mine = own[at : at + max(1, len(job.draft))]
            at += len(mine)
            agree = 0
            while agree < len(job.draft) and mine[agree] == job.draft[agree]:
                agree += 1
            self._meter.drafted += len(job.draft)
            self._meter.accepted += agree
            outcomes.append(Outcome(mine[: min(agree + 1, len(mine))]))
        return outcomes

    def decode(self, parts: Sequence[Live]) -> None:
        """Run live rows to their end; fills their outcomes."""
        live = _merge(parts)
        while live.jobs:
            chosen = self._step(live)
            for job, outcome, token in zip(live.jobs, live.outcomes, chosen, strict=True):
                if not outcome.reason:
                    outcome.tokens.append(token)
                    self._ending.update(job, outcome)
            live = _advance(live)

    def _step(self, live: Live) -> list[int]:
        """The next token of every row."""
        net = self._net
        first: dict[int, int] = {}
        for row, node in enumerate(live.nodes):
            first.setdefault(node, row)
        heads = [first[n] for n in range(len(first))]
        places = [
            len(j.prefix) + len(j.prompt) + len(o.tokens) - 1 for j, o in zip(live.jobs, live.outcomes, strict=True)
        ]
        last = torch.tensor([live.outcomes[r].tokens[-1] for r in heads], device=net.device)
        hidden = net.embed(last)
        if self._low:
            packing = pack([places[r] for r in heads], [1] * len(heads), net.groups, net.dtype, net.device)
            hidden = net.layers_between(hidden, 0, self._low, live.trunk, packing)
            self._meter.trunk_tokens += len(heads)
        hidden = hidden[torch.tensor(live.nodes, device=net.device)]
        packing = pack(places, [1] * len(places), net.groups, net.dtype, net.device)
        with self._hooks.tokens(torch.tensor([j.slot for j in live.jobs], device=net.device)):
            states = net.layers_between(hidden, self._low, net.depth, live.upper, packing)
        self._meter.upper_tokens += len(places)
        self._meter.head_tokens += len(places)
        chosen = net.greedy(states).tolist()
        for row, (job, outcome) in enumerate(zip(live.jobs, live.outcomes, strict=True)):
            if not job.greedy and not outcome.reason:
                chosen[row] = pick(job, outcome.tokens, net.logits(states[row : row + 1])[0])
        return chosen


def split(live: Live, rows: int) -> list[Live]:
    """The same rows in pieces of at most `rows`."""
    device = live.upper.keys[0].device
    pieces = []
    for first in range(0, len(live.jobs), rows):
        index = list(range(first, min(first + rows, len(live.jobs))))
        kept: dict[int, int] = {}
        nodes = [kept.setdefault(live.nodes[i], len(kept)) for i in index]
        pieces.append(
            Live(
                [live.jobs[i] for i in index],
                [live.outcomes[i] for i in index],
                live.upper.select(torch.tensor(index, device=device)),
                live.trunk.select(torch.tensor(list(kept), device=device)),
                nodes,
            )
        )
    return pieces


def _merge(parts: Sequence[Live]) -> Live:
    """Rows of several first passes in one batch, with room for what they may still generate."""
    width = max(job.length for part in parts for job in part.jobs)
    nodes: list[int] = []
    for part in parts:
        offset = max(nodes) + 1 if nodes else 0
        nodes.extend(offset + n for n in part.nodes)
    return Live(
        [j for part in parts for j in part.jobs],
        [o for part in parts for o in part.outcomes],
        KVStore.concatenate([p.upper for p in parts], width),
        KVStore.concatenate([p.trunk for p in parts], width) if parts[0].trunk.keys else parts[0].trunk,
        nodes,
    )


def _advance(live: Live) -> Live:
    """Drop finished rows when enough have finished, and give every distinct continuation its own node."""
    going = [i for i, o in enumerate(live.outcomes) if not o.reason]
    keep = going if len(going) < _COMPACT_BELOW * len(live.jobs) else list(range(len(live.jobs)))
    if not going:
        return Live([], [], live.upper, live.trunk, [])
    kept: dict[tuple[int, int], int] = {}
    nodes = [kept.setdefault((live.nodes[i], live.outcomes[i].tokens[-1]), len(kept)) for i in keep]
    parents = [n for n, _ in kept]
    device = live.upper.keys[0].device
    upper = live.upper if len(keep) == len(live.jobs) else live.upper.select(torch.tensor(keep, device=device))
    trunk = live.trunk
    if trunk.keys and parents != list(range(trunk.keys[0].shape[0])):
        trunk = trunk.select(torch.tensor(parents, device=device))
    return Live([live.jobs[i] for i in keep], [live.outcomes[i] for i in keep], upper, trunk, nodes)
