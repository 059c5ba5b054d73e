"""Computes the prompts of a batch: their keys and values, all but those of each prompt's last token.

Where no searched parameter touches them, prompts are kept, and a new one is computed from where it departs from one of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from esagent.backends.hf.jobs import Job, Meter
from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.prompts import Key, PromptStates, Reading, waves
from esagent.backends.hf.slots import NEUTRAL
from esagent.backends.hf.store import KVStore, Source

Owner = tuple[int, int]
"""(head, slot): a distinct prompt of the batch, by its position, and the parameters it is read under."""
Sources = list[Source | None]
Begun = tuple[Source | None, Source | None]
"""The first tokens of a prompt, where they are kept: below the lowest searched layer and from it on."""


class Reader:
    """Reads prompts, whose prefixes are prepared.

    low: the lowest searched layer. answers_only: no searched parameter acts on prompts, so they are kept in `states`.
    share: a new prompt goes on from where it departs from a kept one. pass_tokens: what a pass costs beside its tokens,
    counted in these. max_tokens: of prompts in one pass.
    """

    def __init__(
        self,
        network: Network,
        passes: Passes,
        prefixes: Prefixes,
        states: PromptStates,
        low: int,
        answers_only: bool,
        share: bool,
        pass_tokens: int,
        meter: Meter,
        max_tokens: int,
    ) -> None:
        self._net = network
        self._passes = passes
        self._prefixes = prefixes
        self._states = states
        self._low = low
        self._answers_only = answers_only
        self._share = share
        self._pass_tokens = pass_tokens
        self._meter = meter
        self._max_tokens = max_tokens

    def read(self, heads: Sequence[Job], owners: Sequence[Owner]) -> tuple[Sources, Sources]:
        """Prompts of distinct heads below the lowest searched layer, and of their owners from it on.

        With `answers_only` the owners are the heads, in order.
        """
        if self._answers_only:
            return self._remembered(heads)
        return self._computed(heads, owners, [(None, None)] * len(heads))

    def _remembered(self, heads: Sequence[Job]) -> tuple[Sources, Sources]:
        """Computes only what no earlier call has."""
        states = self._states
        jobs = {(job.prefix, job.prompt): job for job in heads}
        keys = list(jobs)
        new = [keys[i] for i in states.missing(keys)]
        if new:
            share = self._share and not self._net.chunk  # a sum taken in two parts differs in its last bits
            for wave in waves(new, states, self._pass_tokens) if share else [[Reading(key) for key in new]]:
                self._go_on([jobs[reading.key] for reading in wave], wave)
        found = states.get(keys)
        width = self._net.width(max(len(job.prompt) for job in heads) - 1)
        below = KVStore.joined(0, [trunk for trunk, _ in found], width)
        above = KVStore.joined(self._low, [upper for _, upper in found], width)
        lengths = [len(job.prompt) - 1 for job in heads]
        return (
            [Source(below, entry, length) for entry, length in enumerate(lengths)],
            [Source(above, entry, length) for entry, length in enumerate(lengths)],
        )

    def _go_on(self, heads: Sequence[Job], readings: Sequence[Reading]) -> None:
        """Compute and keep prompts, each from where it departs from its parent."""
        longest: dict[Key, int] = {}
        for reading in readings:
            if reading.parent:
                longest[reading.parent] = max(longest.get(reading.parent, 0), reading.shared)
        begun: list[Begun] = [(None, None)] * len(heads)
        if longest:
            parents = [[t[:, :, :n] for t in self._states.peek(key)] for key, n in longest.items()]
            width = max(longest.values())
            trunk = KVStore.joined(0, [parent[0] for parent in parents], width)
            upper = KVStore.joined(self._low, [parent[1] for parent in parents], width)
            entry = {key: i for i, key in enumerate(longest)}
            for i, r in enumerate(readings):
                if r.parent:
                    begun[i] = Source(trunk, entry[r.parent], r.shared), Source(upper, entry[r.parent], r.shared)
        below, above = self._computed(heads, [(i, NEUTRAL) for i in range(len(heads))], begun)
        for reading, *parts in zip(readings, below, above, strict=True):
            own = [part.store.data[:, :, part.entry, : part.length] for part in parts if part]
            before = self._states.peek(reading.parent) if reading.parent else ()
            whole = [torch.cat([b[:, :, : reading.shared], o], dim=2) for b, o in zip(before, own, strict=False)]
            trunk_part, upper_part = whole or [part.clone() for part in own]
            self._states.keep(reading.key, trunk_part, upper_part)

    def _computed(
        self, heads: Sequence[Job], owners: Sequence[Owner], begun: Sequence[Begun]
    ) -> tuple[Sources, Sources]:
        """Prompts from the tokens on that `begun` does not hold already, pass by pass."""
        below: Sources = [None] * len(heads)
        above: Sources = [None] * len(owners)
        rest = [len(job.prompt) - 1 - _length(b) for job, b in zip(heads, begun, strict=True)]
        for some in self._passes_of(rest, owners):
            alike = list(dict.fromkeys(owners[i][0] for i in some))
            at = {head: entry for entry, head in enumerate(alike)}
            trunk, upper = self._prompts(
                [heads[h] for h in alike], [(at[owners[i][0]], owners[i][1]) for i in some], [begun[h] for h in alike]
            )
            for entry, head in enumerate(alike):
                below[head] = Source(trunk, entry, rest[head])
            for entry, i in enumerate(some):
                above[i] = Source(upper, entry, rest[owners[i][0]])
        return below, above

    def _passes_of(self, rest: Sequence[int], owners: Sequence[Owner]) -> Iterator[list[int]]:
        """Owners pass by pass, in order."""
        some: list[int] = []
        tokens = 0
        for i, (head, _) in enumerate(owners):
            tokens += rest[head] + 1
            if some and tokens > self._max_tokens:
                yield some
                some, tokens = [], rest[head] + 1
            some.append(i)
        yield some

    def _prompts(
        self, heads: Sequence[Job], owners: Sequence[Owner], begun: Sequence[Begun]
    ) -> tuple[KVStore, KVStore]:
        """One pass: a store with an entry per head, and one with an entry per owner."""
        net = self._net
        known = [_length(b) for b in begun]
        counts = [len(job.prompt) - 1 - n for job, n in zip(heads, known, strict=True)]
        starts = [len(job.prefix) + n for job, n in zip(heads, known, strict=True)]
        trunk = net.store(0, self._low, len(heads), max(counts))
        upper = net.store(self._low, net.depth, len(owners), max(counts))
        if not sum(counts):
            return trunk, upper
        hidden = self._passes.enter([t for job, n in zip(heads, known, strict=True) for t in job.prompt[n:-1]])
        if self._low:
            past = [[self._prefixes.trunk(job) for job in heads], [trunk for trunk, _ in begun]]
            hidden = self._passes.run(hidden, (0, self._low), trunk, past, starts, counts)
            self._meter.trunk_tokens += len(hidden)
        first = [sum(counts[:i]) for i in range(len(counts))]
        picked = torch.cat([torch.arange(first[h], first[h] + counts[h]) for h, _ in owners]).to(net.device)
        self._passes.run(
            hidden.index_select(0, picked),
            (self._low, net.depth),
            upper,
            [
                [self._prefixes.upper(heads[h], slot) for h, slot in owners],
                [begun[h][1] for h, _ in owners],
            ],
            [starts[h] for h, _ in owners],
            [counts[h] for h, _ in owners],
            [slot for _, slot in owners],
        )
        self._meter.upper_tokens += len(picked)
        self._meter.prompt_tokens += len(picked)
        return trunk, upper


def _length(begun: Begun) -> int:
    return begun[0].length if begun[0] else 0
