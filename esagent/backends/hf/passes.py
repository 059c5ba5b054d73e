"""One pass of new tokens through some layers: at once, or cut into chunks of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import Past, pack, pack_chunks
from esagent.backends.hf.slots import NEUTRAL, Hooks
from esagent.backends.hf.store import KVStore


class Passes:
    """Runs the layers of `network` under the parameters that `hooks` adds."""

    def __init__(self, network: Network, hooks: Hooks) -> None:
        self._net = network
        self._hooks = hooks

    def run(
        self,
        hidden: Tensor,
        layers: tuple[int, int],
        own: KVStore,
        past: Past,
        starts: Sequence[int],
        counts: Sequence[int],
        slots: Sequence[int] | None = None,
    ) -> Tensor:
        """States [T, hidden] through layers [low, high), keys and values into `own`, an entry per row.

        Row r brings counts[r] of the T tokens, at positions starts[r], starts[r] + 1, ..., under the parameters of
        slots[r] (None: the base model's). `past` holds what comes before its entry in `own`.
        """
        net = self._net
        of_row = None if slots is None else torch.tensor(slots, device=net.device)
        if net.chunk:
            return self._in_chunks(hidden, layers, own, past, starts, counts, of_row)
        packing = pack(own, past, starts, counts, net.shape)
        with self._hooks.tokens(None if of_row is None else of_row.index_select(0, packing.row)):
            return net.layers_between(hidden, net.angles(packing.position), *layers, packing)

    def _in_chunks(
        self,
        hidden: Tensor,
        layers: tuple[int, int],
        own: KVStore,
        past: Past,
        starts: Sequence[int],
        counts: Sequence[int],
        of_row: Tensor | None,
    ) -> Tensor:
        """The same, layer by layer and within a layer chunk by chunk: a layer's weights stay in the processor's cache.

        A row's tokens lie in the order of their positions, so what a chunk looks at has been computed by then.
        """
        net, size = self._net, self._net.chunk
        packings = pack_chunks(own, past, starts, counts, net.shape, size)
        parts = [F.pad(part, (0, 0, 0, size - len(part))) for part in hidden.split(size)]
        angles = [net.angles(F.pad(p.position, (0, size - len(p.position)))) for p in packings]
        slots = [
            None if of_row is None else F.pad(of_row.index_select(0, p.row), (0, size - len(p.row)), value=NEUTRAL)
            for p in packings
        ]
        for layer in range(*layers):
            for i, packing in enumerate(packings):
                with self._hooks.tokens(slots[i]):
                    parts[i] = net.layers_between(parts[i], angles[i], layer, layer + 1, packing)
        return torch.cat(parts)[: len(hidden)]
