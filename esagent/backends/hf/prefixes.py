"""Few-shot prefixes, computed once: below the lowest searched layer for the whole run, above it once per slot."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esagent.backends.hf.jobs import Job, Meter, SlotKey, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import KVStore
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.slots import CENTRE, NEUTRAL, is_centre


class Prefixes:
    """Keys and values of every prefix. `low` is the lowest searched layer."""

    def __init__(
        self, network: Network, passes: Passes, low: int, answers_only: bool, meter: Meter, max_tokens: int
    ) -> None:
        self._network = network
        self._passes = passes
        self._low = low
        self._answers_only = answers_only
        self._meter = meter
        self._max_tokens = max_tokens
        self._trunk: dict[Tokens, tuple[Tensor, KVStore]] = {}
        self._names: dict[int, SlotKey] = {}
        self._upper: dict[Tokens, tuple[KVStore, dict[SlotKey, int]]] = {}

    def forget(self) -> None:
        """The centre moved: everything above the trunk is stale, unless the parameters leave prefixes alone."""
        if not self._answers_only:
            self._upper.clear()

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Compute what these jobs need and nobody computed yet; drop what belongs to earlier populations."""
        needed: dict[Tokens, dict[SlotKey, int]] = {}
        self._names = {NEUTRAL: ("", CENTRE)}
        for job in jobs:
            slot = NEUTRAL if self._answers_only else job.slot
            self._names.setdefault(slot, job.slot_key)
            if job.prefix:
                needed.setdefault(job.prefix, {})[self._names[slot]] = slot
        if not self._answers_only:
            self._upper = {prefix: found for prefix, found in self._upper.items() if prefix in needed}
        for prefix, slots in needed.items():
            store, rows = self._upper.get(prefix, (None, {}))
            keep = [key for key in rows if key in slots or is_centre(key)]
            missing = [(key, slot) for key, slot in slots.items() if key not in rows]
            if not missing:
                continue
            stores = [store.select(torch.tensor([rows[k] for k in keep], device=self._network.device))] if store else []
            at_once = max(1, self._max_tokens // len(prefix))
            for first in range(0, len(missing), at_once):
                stores.append(self._compute(prefix, [slot for _, slot in missing[first : first + at_once]]))
            names = keep + [key for key, _ in missing]
            self._upper[prefix] = KVStore.concatenate(stores, 0), {key: row for row, key in enumerate(names)}

    def _compute(self, prefix: Tokens, slots: Sequence[int]) -> KVStore:
        hidden, _ = self._trunk_of(prefix)
        net, n = self._network, len(prefix)
        store = net.store(self._low, net.depth, len(slots), n, full=n)
        rows = len(slots)
        self._passes.run(hidden.repeat(rows, 1), self._low, net.depth, store, [0] * rows, [n] * rows, slots)
        self._meter.upper_tokens += n * len(slots)
        self._meter.prompt_tokens += n * len(slots)
        return store

    def _trunk_of(self, prefix: Tokens) -> tuple[Tensor, KVStore]:
        if prefix not in self._trunk:
            net, n = self._network, len(prefix)
            store = net.store(0, self._low, 1, n, full=n)
            hidden = net.embed(torch.tensor(prefix, device=net.device))
            self._trunk[prefix] = self._passes.run(hidden, 0, self._low, store, [0], [n]), store
            self._meter.trunk_tokens += n
        return self._trunk[prefix]

    def fill_trunk(self, store: KVStore, prefixes: Sequence[Tokens]) -> None:
        """Copy the prefix of every row into the trunk store."""
        for prefix, rows in _by_prefix(prefixes).items():
            source = self._trunk_of(prefix)[1]
            _copy(store, source, rows, [0] * len(rows), len(prefixes))

    def fill_upper(self, store: KVStore, owners: Sequence[tuple[Tokens, int]]) -> None:
        """Copy the prefix of every row (prefix, slot), as prepared for this call, into the upper store."""
        for prefix, rows in _by_prefix([prefix for prefix, _ in owners]).items():
            source, row_of = self._upper[prefix]
            _copy(store, source, rows, [row_of[self._names[owners[r][1]]] for r in rows], len(owners))


def _by_prefix(prefixes: Sequence[Tokens]) -> dict[Tokens, list[int]]:
    rows: dict[Tokens, list[int]] = {}
    for row, prefix in enumerate(prefixes):
        if prefix:
            rows.setdefault(prefix, []).append(row)
    return rows


def _copy(store: KVStore, source: KVStore, rows: list[int], source_rows: list[int], total: int) -> None:
    device = source.keys[0].device
    everywhere = None if len(rows) == total else torch.tensor(rows, device=device)
    store.copy_from(source, everywhere, torch.tensor(source_rows, device=device))
