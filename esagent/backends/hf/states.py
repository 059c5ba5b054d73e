"""What a hybrid model keeps of a text: keys and values of its attention layers, states of its recurrent ones.

They live in the library's own cache. A row is a text, right-aligned: where texts differ in length, the shorter ones'
keys and values have empty slots before them, which the mask hides. Recurrent states have no length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import DynamicCache


@dataclass
class States:
    """Rows of texts that a model has read. cache: the library's. mask: [rows, slots], False where a slot is empty."""

    cache: DynamicCache
    mask: Tensor

    def pick(self, rows: Sequence[int]) -> States:
        """A copy of some rows, in the given order; the rows themselves are given up."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.mask.device)
        self.cache.reorder_cache(index)
        return States(self.cache, self.mask.index_select(0, index))


def empty(config: Any, rows: int, device: torch.device) -> States:
    """Rows of which nothing is read yet, for a model of this configuration."""
    return States(DynamicCache(config=config), torch.zeros(rows, 0, dtype=torch.bool, device=device))


def joined(config: Any, parts: Sequence[States]) -> States:
    """The rows of all parts, one part after the other; the parts stay what they are."""
    width = max(part.mask.shape[1] for part in parts)
    mask = torch.cat([F.pad(part.mask, (width - part.mask.shape[1], 0)) for part in parts])
    cache = DynamicCache(config=config)
    for index, layers in enumerate(zip(*(part.cache.layers for part in parts), strict=True)):
        if hasattr(layers[0], "keys"):
            cache.update(_stacked([x.keys for x in layers], width), _stacked([x.values for x in layers], width), index)
        if hasattr(layers[0], "conv_states"):
            for state in range(layers[0].number_of_states):
                conv = torch.cat([layer.conv_states[state] for layer in layers])
                cache.update_conv_state(conv, index, state)
                recurrent = torch.cat([layer.recurrent_states[state] for layer in layers])
                cache.update_recurrent_state(recurrent, index, state)
    return States(cache, mask)


def _stacked(parts: Sequence[Tensor], width: int) -> Tensor:
    """[rows, heads, slots, dim] each, to one of `width` slots."""
    return torch.cat([F.pad(part, (0, 0, width - part.shape[2], 0)) for part in parts])


def sizes(states: States) -> tuple[int, int]:
    """(bytes per slot of a row, bytes per row beside its slots) of states that hold at least one slot."""
    rows, slots = states.mask.shape
    slot = sum(t.nbytes for layer in states.cache.layers if hasattr(layer, "keys") for t in (layer.keys, layer.values))
    fixed = sum(t.nbytes for layer in states.cache.layers if hasattr(layer, "conv_states") for t in _fixed(layer))
    return slot // (rows * slots), fixed // rows


def _fixed(layer: Any) -> Iterator[Tensor]:
    for kept in (layer.conv_states, layer.recurrent_states):
        yield from (state for state in kept.values() if state is not None)
