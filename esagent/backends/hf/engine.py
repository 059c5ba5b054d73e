"""One batched decode for all members and all tasks.

A batch first computes its prompts, then advances all its rows together, pass by pass, until each has ended. In a pass a
row is fed its newest token and a guess at what follows; the part of the guess that its own greedy choice confirms is
kept, with the token behind it. Greedy results are those of token-by-token decoding.

Nothing is computed twice that is the same. Below the lowest searched layer all members are equal, so there a batch
holds one row per distinct token sequence (a node); above, one row per job. Parameters that act on answers alone leave
the prompt the same for all members as well, through all layers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from esagent.backends.hf.choose import Ending, pick
from esagent.backends.hf.drafts import Drafts
from esagent.backends.hf.jobs import Job, Meter, Outcome, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import KVStore
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.prompts import Key, PromptStates
from esagent.backends.hf.slots import NEUTRAL

_LOGITS_AT_ONCE = 64  # one row alone costs a third of as many; each takes a vocabulary of memory
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
    """Runs jobs on a network.

    low: the lowest searched layer; 0 turns trunk sharing off.
    answers_only: the searched parameters act from the last token of the prompt on, and not on the prompt before it.
    """

    def __init__(
        self,
        network: Network,
        passes: Passes,
        prefixes: Prefixes,
        ending: Ending,
        drafts: Drafts,
        states: PromptStates,
        low: int,
        answers_only: bool,
        meter: Meter,
    ) -> None:
        self._net = network
        self._passes = passes
        self._prefixes = prefixes
        self._ending = ending
        self._drafts = drafts
        self._states = states
        self._low = low
        self._answers_only = answers_only
        self._meter = meter

    def start(self, jobs: Sequence[Job]) -> Live:
        """Compute the prompts of `jobs`, all but their last token."""
        prompts: dict[Key, int] = {}
        nodes = [prompts.setdefault((j.prefix, j.prompt), len(prompts)) for j in jobs]
        owners: dict[tuple[int, int], int] = {}
        slots = [NEUTRAL if self._answers_only else job.slot for job in jobs]
        row_of = [owners.setdefault(pair, len(owners)) for pair in zip(nodes, slots, strict=True)]
        width = max(job.length for job in jobs)
        compute = self._remembered if self._answers_only else self._prompts
        trunk, upper = compute(list(prompts), list(owners), width)
        if row_of != list(range(len(owners))):
            upper = upper.select(torch.tensor(row_of, device=self._net.device))
        return Live(list(jobs), [Outcome([]) for _ in jobs], upper, trunk, nodes)

    def _remembered(
        self, prompts: Sequence[Key], owners: Sequence[tuple[int, int]], width: int
    ) -> tuple[KVStore, KVStore]:
        """The same as `_prompts`, but computing only what no earlier call has."""
        states = self._states
        new = [prompts[i] for i in states.missing(prompts)]
        if new:
            longest = max(len(prefix) + len(prompt) for prefix, prompt in new)
            states.keep(new, self._prompts(new, [(i, NEUTRAL) for i in range(len(new))], longest))
        trunk, upper = self._room(prompts, owners, width)
        states.fill(prompts, (trunk, upper))
        return trunk, upper

    def _room(self, prompts: Sequence[Key], owners: Sequence[tuple[int, int]], width: int) -> tuple[KVStore, KVStore]:
        """Stores for the prompts' trunks, a row each, and for the layers above, a row per (prompt, slot), with the
        prefixes in place."""
        net = self._net
        full = min(len(prefix) + len(prompt) - 1 for prefix, prompt in prompts)
        trunk = net.store(0, self._low, len(prompts), width, full)
        upper = net.store(self._low, net.depth, len(owners), width, full)
        if self._low:
            self._prefixes.fill_trunk(trunk, [prefix for prefix, _ in prompts])
        self._prefixes.fill_upper(upper, [(prompts[n][0], slot) for n, slot in owners])
        return trunk, upper

    def _prompts(
        self, prompts: Sequence[Key], owners: Sequence[tuple[int, int]], width: int
    ) -> tuple[KVStore, KVStore]:
        """Trunk store of the prompts and upper store of the owners (prompt, slot), computed."""
        net = self._net
        trunk, upper = self._room(prompts, owners, width)
        counts = [len(prompt) - 1 for _, prompt in prompts]
        if not sum(counts):
            return trunk, upper
        hidden = net.embed(torch.tensor([t for _, p in prompts for t in p[:-1]], device=net.device))
        if self._low:
            hidden = self._passes.run(hidden, 0, self._low, trunk, [len(p) for p, _ in prompts], counts)
            self._meter.trunk_tokens += len(hidden)
        starts = [sum(counts[:i]) for i in range(len(counts))]
        picked = torch.cat([torch.arange(starts[n], starts[n] + counts[n]) for n, _ in owners]).to(net.device)
        self._passes.run(
            hidden.index_select(0, picked),
            self._low,
            net.depth,
            upper,
            [len(prompts[n][0]) for n, _ in owners],
            [counts[n] for n, _ in owners],
            [slot for _, slot in owners],
        )
        self._meter.upper_tokens += len(picked)
        self._meter.prompt_tokens += len(picked)
        return trunk, upper

    def finish(self, live: Live) -> None:
        """Run all rows to their end; fills their outcomes."""
        while live.jobs:
            self.advance(live)
            live = self.remaining(live)

    def advance(self, live: Live) -> None:
        """One pass: every unfinished row gains at least one token."""
        net, meter = self._net, self._meter
        feeds = [self._feed(job, out) for job, out in zip(live.jobs, live.outcomes, strict=True)]
        places = [
            len(j.prefix) + len(j.prompt) - 1 + len(o.tokens) for j, o in zip(live.jobs, live.outcomes, strict=True)
        ]
        hidden, token_of = self._trunk_step(live, feeds, places)
        states = self._passes.run(
            hidden.index_select(0, token_of),
            self._low,
            net.depth,
            live.upper,
            places,
            [len(feed) for feed in feeds],
            [job.slot for job in live.jobs],
        )
        meter.upper_tokens += len(states)
        meter.head_tokens += len(states)
        chosen = net.greedy(states).tolist() if any(job.greedy for job in live.jobs) else []
        picked = iter(self._picked(live, feeds, states))
        at = 0
        for job, outcome, feed in zip(live.jobs, live.outcomes, feeds, strict=True):
            if not outcome.reason:
                own = chosen[at : at + len(feed)] if job.greedy else [next(picked)]
                self._take(job, outcome, own, feed[1:])
            at += len(feed)

    def _feed(self, job: Job, outcome: Outcome) -> Tokens:
        last = outcome.tokens[-1] if outcome.tokens else job.prompt[-1]
        if outcome.reason:
            return (max(last, 0),)  # a finished row that was not dropped yet; its answer is ignored
        return (last, *self._drafts.guess(job, outcome.tokens))

    def _picked(self, live: Live, feeds: Sequence[Tokens], states: Tensor) -> list[int]:
        """Next tokens of the unfinished rows that are sampled or constrained, in order; many rows' logits at once."""
        places = accumulate((len(feed) for feed in feeds), initial=0)
        rows = [
            (job, outcome, place)
            for job, outcome, place in zip(live.jobs, live.outcomes, places, strict=False)
            if not (outcome.reason or job.greedy)
        ]
        tokens = []
        for first in range(0, len(rows), _LOGITS_AT_ONCE):
            part = rows[first : first + _LOGITS_AT_ONCE]
            logits = self._net.logits(states[[place for *_, place in part]])
            tokens += [pick(job, outcome.tokens, row) for (job, outcome, _), row in zip(part, logits, strict=True)]
        return tokens

    def _trunk_step(self, live: Live, feeds: Sequence[Tokens], places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """States of the nodes' new tokens below the searched layers, and for every token of every row its place there.

        Rows of one node that have parted get nodes of their own first.
        """
        net = self._net
        parts: dict[Hashable, int] = {}
        keys = [(n, tuple(o.tokens), f) for n, o, f in zip(live.nodes, live.outcomes, feeds, strict=True)]
        nodes = [parts.setdefault(key, len(parts)) for key in keys]
        first = dict(zip(reversed(nodes), reversed(range(len(nodes))), strict=True))
        heads = [first[n] for n in range(len(parts))]
        if self._low:
            parents = [live.nodes[r] for r in heads]
            if parents != list(range(live.trunk.rows)):
                live.trunk = live.trunk.select(torch.tensor(parents, device=net.device))
        live.nodes = nodes
        counts = [len(feeds[r]) for r in heads]
        hidden = net.embed(torch.tensor([t for r in heads for t in feeds[r]], device=net.device))
        if self._low:
            hidden = self._passes.run(hidden, 0, self._low, live.trunk, [places[r] for r in heads], counts)
            self._meter.trunk_tokens += len(hidden)
        starts = [sum(counts[:i]) for i in range(len(counts))]
        token_of = torch.tensor([starts[n] + i for n, f in zip(nodes, feeds, strict=True) for i in range(len(f))])
        return hidden, token_of.to(net.device)

    def _take(self, job: Job, outcome: Outcome, own: Sequence[int], guess: Tokens) -> None:
        """Keep the row's own tokens as far as the guess foresaw them, and one more."""
        for i, token in enumerate(own):
            outcome.tokens.append(token)
            if self._ending.update(job, outcome):
                self._drafts.learn(job, outcome.tokens)
            confirmed = i < len(guess) and guess[i] == token
            self._meter.accepted += confirmed
            if outcome.reason or not confirmed:
                break
        self._meter.drafted += len(guess)

    def remaining(self, live: Live) -> Live:
        """Drop finished rows when enough have finished."""
        going = [i for i, outcome in enumerate(live.outcomes) if not outcome.reason]
        if not going:
            return Live([], [], live.upper, live.trunk, [])
        if len(going) >= _COMPACT_BELOW * len(live.jobs):
            return live
        return _pick(live, going)


def split(live: Live, rows: int) -> list[Live]:
    """The same rows in pieces of at most `rows`."""
    count = len(live.jobs)
    return [_pick(live, list(range(first, min(first + rows, count)))) for first in range(0, count, rows)]


def merge(parts: Sequence[Live]) -> Live:
    """Rows of several batches in one."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.upper.width for part in parts)
    nodes: list[int] = []
    for part in parts:
        offset = max(nodes) + 1 if nodes else 0
        nodes.extend(offset + n for n in part.nodes)
    return Live(
        [j for part in parts for j in part.jobs],
        [o for part in parts for o in part.outcomes],
        KVStore.concatenate([p.upper for p in parts], width),
        KVStore.concatenate([p.trunk for p in parts], width),
        nodes,
    )


def _pick(live: Live, index: Sequence[int]) -> Live:
    device = live.upper.keys[0].device
    kept: dict[int, int] = {}
    nodes = [kept.setdefault(live.nodes[i], len(kept)) for i in index]
    return Live(
        [live.jobs[i] for i in index],
        [live.outcomes[i] for i in index],
        live.upper.select(torch.tensor(index, device=device)),
        live.trunk.select(torch.tensor(list(kept), device=device)),
        nodes,
    )
