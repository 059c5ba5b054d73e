"""One pass of new tokens through some layers: at once, or cut into chunks of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from esagent.backends.hf.network import Network
from esagent.backends.hf.packing import Past, pack, pack_chunks
from esagent.backends.hf.slots import Hooks
from esagent.backends.hf.store import KVStore


class Passes:
    """Runs the layers of `network` under the parameters that `hooks` adds."""

    def __init__(self, network: Network, hooks: Hooks) -> None:
        self._net = network
        self._hooks = hooks

    def enter(self, tokens: Sequence[int]) -> Tensor:
        """What `run` takes to the first layer: embeddings [T, hidden], or ids [T] where slots embed differently."""
        ids = torch.tensor(tokens, device=self._net.device)
        return ids if self._hooks.embeds else self._net.embed(ids)

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
        """States [T, hidden], or what `enter` gave, through layers [low, high); keys and values go into `own`, by row.

        Row r brings counts[r] of the T tokens, at positions starts[r], starts[r] + 1, ..., under the parameters of
        slots[r] (None: the base model's). `past` holds what comes before its entry in `own`.
        """
        net = self._net
        of_row = None if slots is None else torch.tensor(slots, device=net.device)
        if net.chunk:
            return self._in_chunks(hidden, layers, own, past, starts, counts, of_row)
        packing = pack(own, past, starts, counts, net.shape)
        with self._hooks.tokens(None if of_row is None else of_row.index_select(0, packing.row)):
            return net.layers_between(self._embedded(hidden), net.angles(packing.position), *layers, packing)

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
        parts = [_filled(part, size) for part in hidden.split(size)]
        angles = [net.angles(_filled(p.position, size)) for p in packings]
        slots = [None if of_row is None else _filled(of_row.index_select(0, p.row), size) for p in packings]
        for i, part in enumerate(parts):
            with self._hooks.tokens(slots[i]):
                parts[i] = self._embedded(part)
        for layer in range(*layers):
            for i, packing in enumerate(packings):
                with self._hooks.tokens(slots[i]):
                    parts[i] = net.layers_between(parts[i], angles[i], layer, layer + 1, packing)
        return torch.cat(parts)[: len(hidden)]

    def _embedded(self, entered: Tensor) -> Tensor:
        return entered if entered.is_floating_point() else self._net.embed(entered)

    def logits(self, states: Tensor, slots: Sequence[int]) -> Tensor:
        """States [T, hidden] of the last layer to logits [T, vocabulary], state t under the parameters of slots[t]."""
        with self._hooks.tokens(torch.tensor(slots, device=self._net.device)):
            return self._net.logits(states)

    def greedy(self, states: Tensor, slots: Sequence[int]) -> Tensor:
        """Most likely token of each state [T], part by part; -1 where the logits are not finite."""
        net, found = self._net, []
        of_state = torch.tensor(slots, device=net.device)
        for part, slot in zip(states.split(net.head_rows), of_state.split(net.head_rows), strict=True):
            with self._hooks.tokens(_filled(slot, net.chunk)):
                found.append(net.greedy(_filled(part, net.chunk))[: len(part)])
        return torch.cat(found)

    def log_likelihoods(self, states: Tensor, tokens: Sequence[int], slots: Sequence[int]) -> Tensor:
        """log p(tokens[t]) behind state t under the parameters of slots[t], fp32 [T]; not finite where logits are not.

        Part by part, so that the fp32 logits of all states are never kept.
        """
        net, found = self._net, []
        rows, device = net.exact_rows, net.device
        parts = (
            t.split(rows) for t in (states, torch.tensor(tokens, device=device), torch.tensor(slots, device=device))
        )
        for part, wanted, slot in zip(*parts, strict=True):
            with self._hooks.tokens(_filled(slot, net.chunk)):
                scores = net.log_likelihoods(_filled(part, net.chunk), _filled(wanted, net.chunk))
            found.append(scores[: len(part)])
        return torch.cat(found)


def _filled(rows: Tensor, size: int) -> Tensor:
    """`rows` and zeros (the neutral slot, token 0, states of 0) behind them, `size` in all or as many as there are."""
    return F.pad(rows, (0, 0) * (rows.dim() - 1) + (0, max(0, size - len(rows))))
