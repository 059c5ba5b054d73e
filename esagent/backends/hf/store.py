"""Where keys and values live: stores of entries, and the parts of its past that a row finds in them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


class KVStore:
    """Keys and values of E entries for layers [low, low + L), W slots each. data: [2, L, E, W, kv_heads, dim]."""

    def __init__(self, low: int, data: Tensor) -> None:
        self.low = low
        self.data = data

    @property
    def entries(self) -> int:
        """Number of entries."""
        return self.data.shape[2]

    @property
    def width(self) -> int:
        """Slots per entry."""
        return self.data.shape[3]

    def read(self, layer: int, width: int) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer, the first `width` slots: each [E, kv_heads, width, dim]."""
        keys, values = self.data[:, layer - self.low, :, :width].transpose(2, 3)
        return keys, values

    def write(self, layer: int, slots: Tensor, key: Tensor, value: Tensor) -> None:
        """Fill slots [T], counted over all entries (entry * W + slot), of a layer. key, value: [T, kv_heads, dim]."""
        for target, source in zip(self.data[:, layer - self.low], (key, value), strict=True):
            target.view(-1, *source.shape[1:]).index_copy_(0, slots, source)

    def select(self, entries: Tensor, used: int) -> KVStore:
        """A copy of some entries, in the given order; slots from `used` on hold nothing yet and become 0."""
        kept = self.data[:, :, :, :used].index_select(2, entries)
        return KVStore(self.low, F.pad(kept, (0, 0, 0, 0, 0, self.width - used)))

    @classmethod
    def joined(cls, low: int, parts: list[Tensor], width: int) -> KVStore:
        """One entry of `width` slots per part [2, L, n, kv_heads, dim], n being its own; slots beyond it are 0."""
        return cls(low, torch.stack([F.pad(part, (0, 0, 0, 0, 0, width - part.shape[2])) for part in parts], dim=2))


@dataclass(frozen=True)
class Source:
    """A part of a row's past: the first `length` slots of an entry."""

    store: KVStore
    entry: int
    length: int
