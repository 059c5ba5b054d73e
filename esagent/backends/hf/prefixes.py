"""Few-shot prefixes, computed once: below the lowest searched layer for the whole run, above it once per slot."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esagent.backends.hf.jobs import Job, Meter, PrefixKey, SlotKey
from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.slots import CENTRE, NEUTRAL, is_centre
from esagent.backends.hf.store import KVStore, Source


class Prefixes:
    """Keys and values of every prefix. `low` is the lowest searched layer.

    in_place: parameters follow one another in the model; the states of the present ones are kept while it is theirs.
    """

    def __init__(
        self,
        network: Network,
        passes: Passes,
        low: int,
        answers_only: bool,
        in_place: bool,
        meter: Meter,
        max_tokens: int,
    ) -> None:
        self._network = network
        self._passes = passes
        self._low = low
        self._answers_only = answers_only
        self._in_place = in_place
        self._meter = meter
        self._max_tokens = max_tokens
        self._trunk: dict[PrefixKey, tuple[Tensor, KVStore]] = {}
        self._names: dict[int, SlotKey] = {}
        self._upper: dict[PrefixKey, tuple[KVStore, dict[SlotKey, int]]] = {}

    def forget(self) -> None:
        """The centre moved: everything above the trunk is stale, unless the parameters leave prefixes alone."""
        if not self._answers_only:
            self._upper.clear()

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Compute what these jobs need and nobody computed yet; drop what belongs to earlier populations."""
        needed: dict[PrefixKey, dict[SlotKey, int]] = {}
        self._names = {NEUTRAL: ("", CENTRE)}
        for job in jobs:
            slot = NEUTRAL if self._answers_only else job.slot
            self._names.setdefault(slot, job.slot_key)
            if job.prefix:
                needed.setdefault(job.prefix_key, {})[self._names[slot]] = slot
        present = {job.slot_key for job in jobs}
        self._trunk = {p: found for p, found in self._trunk.items() if p in needed or not p.alone}
        self._upper = {
            p: found
            for p, found in self._upper.items()
            if p in needed or (not p.alone and (self._answers_only or (self._in_place and present & found[1].keys())))
        }
        for prefix, slots in needed.items():
            store, entries = self._upper.get(prefix, (None, {}))
            keep = [key for key in entries if key in slots or is_centre(key)]
            missing = [(key, slot) for key, slot in slots.items() if key not in entries]
            if not missing:
                continue
            parts = [store.data[:, :, [entries[key] for key in keep]]] if store else []
            at_once = max(1, self._max_tokens // len(prefix.tokens))
            for first in range(0, len(missing), at_once):
                parts.append(self._compute(prefix, [slot for _, slot in missing[first : first + at_once]]).data)
            names = keep + [key for key, _ in missing]
            joined = KVStore(self._low, torch.cat(parts, dim=2))
            self._upper[prefix] = joined, {key: entry for entry, key in enumerate(names)}

    def trunk(self, job: Job) -> Source | None:
        """The job's prefix below the lowest searched layer; None where it has none."""
        return Source(self._trunk_of(job.prefix_key)[1], 0, len(job.prefix)) if job.prefix else None

    def upper(self, job: Job, slot: int) -> Source | None:
        """The job's prefix from the lowest searched layer on under the parameters of `slot`, as prepared."""
        if not job.prefix:
            return None
        store, entries = self._upper[job.prefix_key]
        return Source(store, entries[self._names[slot]], len(job.prefix))

    def _compute(self, prefix: PrefixKey, slots: Sequence[int]) -> KVStore:
        hidden, _ = self._trunk_of(prefix)
        net, rows, n = self._network, len(slots), len(prefix.tokens)
        store = net.store(self._low, net.depth, rows, n)
        every = torch.cat([hidden] * rows)
        self._passes.run(every, (self._low, net.depth), store, (), [0] * rows, [n] * rows, slots)
        self._meter.upper_tokens += n * rows
        self._meter.prompt_tokens += n * rows
        return store

    def _trunk_of(self, prefix: PrefixKey) -> tuple[Tensor, KVStore]:
        if prefix not in self._trunk:
            net, n = self._network, len(prefix.tokens)
            store = net.store(0, self._low, 1, n)
            hidden = self._passes.enter(prefix.tokens)
            if not self._low:
                return hidden, store  # not kept: the embedding itself may be searched
            self._trunk[prefix] = self._passes.run(hidden, (0, self._low), store, (), [0], [n]), store
            self._meter.trunk_tokens += n
        return self._trunk[prefix]
