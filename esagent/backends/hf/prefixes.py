"""Few-shot prefixes, computed once: below the lowest searched layer for the whole run, above it once per slot."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from esagent.backends.hf.jobs import Job, Meter, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import KVStore, pack
from esagent.backends.hf.slots import Hooks, is_centre


class Prefixes:
    """Keys and values of every prefix. `low` is the lowest searched layer."""

    def __init__(self, network: Network, hooks: Hooks, low: int, meter: Meter, max_tokens: int) -> None:
        self._network = network
        self._hooks = hooks
        self._low = low
        self._meter = meter
        self._max_tokens = max_tokens
        self._trunk: dict[Tokens, tuple[Tensor, KVStore]] = {}
        self._upper: dict[tuple[Tokens, Hashable], KVStore] = {}

    def forget(self) -> None:
        """The centre moved: everything above the trunk is stale."""
        self._upper.clear()

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Compute what these jobs need and nobody computed yet; drop what belongs to members of earlier populations."""
        needed = {(job.prefix, job.slot_key): job.slot for job in jobs if job.prefix}
        self._upper = {k: v for k, v in self._upper.items() if k in needed or is_centre(k[1])}
        missing: dict[Tokens, list[tuple[Hashable, int]]] = {}
        for (prefix, slot_key), slot in needed.items():
            if (prefix, slot_key) not in self._upper:
                missing.setdefault(prefix, []).append((slot_key, slot))
        for prefix, slots in missing.items():
            at_once = max(1, self._max_tokens // len(prefix))
            for first in range(0, len(slots), at_once):
                self._compute(prefix, slots[first : first + at_once])

    def _compute(self, prefix: Tokens, slots: Sequence[tuple[Hashable, int]]) -> None:
        hidden, _ = self._trunk_of(prefix)
        net, n = self._network, len(prefix)
        store = net.store(self._low, net.depth, len(slots), n)
        packing = pack([0] * len(slots), [n] * len(slots), net.groups, net.dtype, net.device)
        slot = torch.tensor([s for _, s in slots], device=net.device)
        with self._hooks.tokens(slot.repeat_interleave(n)):
            net.layers_between(hidden.repeat(len(slots), 1), self._low, net.depth, store, packing)
        self._meter.upper_tokens += n * len(slots)
        for i, (slot_key, _) in enumerate(slots):
            self._upper[prefix, slot_key] = store.select(torch.tensor([i], device=net.device))

    def _trunk_of(self, prefix: Tokens) -> tuple[Tensor, KVStore]:
        if prefix not in self._trunk:
            net, n = self._network, len(prefix)
            store = net.store(0, self._low, 1, n)
            packing = pack([0], [n], net.groups, net.dtype, net.device)
            hidden = net.embed(torch.tensor(prefix, device=net.device))
            self._trunk[prefix] = net.layers_between(hidden, 0, self._low, store, packing), store
            self._meter.trunk_tokens += n
        return self._trunk[prefix]

    def fill_trunk(self, store: KVStore, prefixes: Sequence[Tokens]) -> None:
        """Copy the prefix of every row into the trunk store."""
        _copy(store, [self._trunk_of(p)[1] if p else None for p in prefixes])

    def fill_upper(self, store: KVStore, jobs: Sequence[Job]) -> None:
        """Copy the prefix of every row, under its own slot, into the upper store."""
        _copy(store, [self._upper[j.prefix, j.slot_key] if j.prefix else None for j in jobs])


def _copy(store: KVStore, sources: Sequence[KVStore | None]) -> None:
    for layer in range(len(store.keys)):
        for row, source in enumerate(sources):
            if source is not None:
                store.keys[layer][row, :, : source.width] = source.keys[layer][0]
                store.values[layer][row, :, : source.width] = source.values[layer][0]
