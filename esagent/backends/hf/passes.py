"""One pass of new tokens through some layers: at once, or cut into chunks of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from esagent.backends.hf.fixed import pack_fixed
from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import KVStore, pack
from esagent.backends.hf.slots import NEUTRAL, Hooks


class Passes:
    """Runs the layers of `network` under the parameters that `hooks` adds."""

    def __init__(self, network: Network, hooks: Hooks) -> None:
        self._net = network
        self._hooks = hooks

    def run(
        self,
        hidden: Tensor,
        low: int,
        high: int,
        store: KVStore,
        starts: Sequence[int],
        counts: Sequence[int],
        slots: Sequence[int] | None = None,
    ) -> Tensor:
        """States [T, hidden] through layers [low, high), keys and values into `store`.

        Row r of the store brings counts[r] of the T tokens, at positions starts[r], starts[r] + 1, ..., under the
        parameters of slots[r]; None: under the base model's.
        """
        net = self._net
        of_row = None if slots is None else torch.tensor(slots, device=net.device)
        if net.chunk:
            return self._in_chunks(hidden, low, high, store, starts, counts, of_row)
        packing = pack(starts, counts, net.groups, net.dtype, net.device)
        with self._hooks.tokens(None if of_row is None else of_row.index_select(0, packing.row)):
            return net.layers_between(hidden, net.angles(packing.position), low, high, store, packing)

    def _in_chunks(
        self,
        hidden: Tensor,
        low: int,
        high: int,
        store: KVStore,
        starts: Sequence[int],
        counts: Sequence[int],
        of_row: Tensor | None,
    ) -> Tensor:
        """The same, layer by layer and within a layer chunk by chunk: a layer's weights stay in the processor's cache.

        A row's tokens lie in the order of their positions, so what a chunk looks at has been computed by then.
        """
        net, size = self._net, self._net.chunk
        packings = pack_fixed(starts, counts, size, net.groups, net.dtype, net.device)
        parts = [F.pad(part, (0, 0, 0, size - len(part))) for part in hidden.split(size)]
        angles = [net.angles(F.pad(p.position, (0, size - len(p.position)))) for p in packings]
        slots = [
            None if of_row is None else F.pad(of_row.index_select(0, p.row), (0, size - len(p.row)), value=NEUTRAL)
            for p in packings
        ]
        for layer in range(low, high):
            for i, packing in enumerate(packings):
                with self._hooks.tokens(slots[i]):
                    parts[i] = net.layers_between(parts[i], angles[i], layer, layer + 1, store, packing)
        return torch.cat(parts)[: len(hidden)]
