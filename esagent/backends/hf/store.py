"""Where keys and values live: stores of entries, and the parts of its past that a row finds in them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


class KVStore:
    """Keys and values of E entries for layers [low, low + L), W slots each. data: [2, L, E, kv_heads, W, dim]."""

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
        return self.data.shape[4]

    def keys(self, layer: int) -> Tensor:
        """[E, kv_heads, W, dim] of a layer."""
        return self.data[0, layer - self.low]

    def values(self, layer: int) -> Tensor:
        """[E, kv_heads, W, dim] of a layer."""
        return self.data[1, layer - self.low]

    def select(self, entries: Tensor, used: int) -> KVStore:
        """A copy of some entries, in the given order; slots from `used` on hold nothing yet and become 0."""
        kept = self.data[..., :used, :].index_select(2, entries)
        return KVStore(self.low, F.pad(kept, (0, 0, 0, self.width - used)))

    @classmethod
    def joined(cls, low: int, parts: list[Tensor], width: int) -> KVStore:
        """One entry of `width` slots per part [2, L, kv_heads, n, dim], n being its own; slots beyond it are 0."""
        return cls(low, torch.stack([F.pad(part, (0, 0, 0, width - part.shape[3])) for part in parts], dim=2))


@dataclass(frozen=True)
class Source:
    """A part of a row's past: the first `length` slots of an entry."""

    store: KVStore
    entry: int
    length: int
