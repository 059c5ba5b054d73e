"""Which block each searched number belongs to. A block only masks: noise never depends on the partition.

    module   a block per module of the agent            layer   a block per layer of the network
    whole    one block                                  kind    a block per kind of matrix (down_proj, q_proj, ...)
    random   K disjoint subspaces of about d/K numbers each, drawn anew every step from the step's key
             (CoPES, arXiv 2608.02391), or once for the whole run

Random subspaces draw every number by itself, so their sizes are d/K up to sqrt(d (K - 1)) / K: 0.02% of d/K for the
134.5 million parameters of SmolLM2-135M and K = 4.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from esagent.core.noise import parts
from esagent.core.population import Block
from esagent.spaces.tensors import SearchTensor

Weight = float | Tensor
"""One number for all elements of a range, or a float32 tensor with a number for each."""


class Partition(Protocol):
    """Named, disjoint blocks that cover all searched numbers. redrawn: which are in a block changes every step."""

    @property
    def redrawn(self) -> bool: ...

    def blocks(self, tensors: Sequence[SearchTensor]) -> tuple[Block, ...]:
        """The blocks in a fixed order; sizes are exact, but for random ones, where they are expectations."""
        ...

    def weights(self, tensor: SearchTensor, by_block: Mapping[str, float], key: int, start: int, count: int) -> Weight:
        """`by_block` of the elements [start, start + count) of `tensor`; 0 where its block is not named."""
        ...

    def sums(self, tensor: SearchTensor, values: Tensor, key: int, start: int) -> dict[str, float]:
        """Sums of `values`, which belong to the elements from `start` on, by block."""
        ...


@dataclass(frozen=True)
class Grouped:
    """Whole tensors by a label of theirs."""

    label: Callable[[SearchTensor], str]
    redrawn: bool = False

    def blocks(self, tensors: Sequence[SearchTensor]) -> tuple[Block, ...]:
        """In order of first appearance."""
        sizes: dict[str, int] = {}
        for tensor in tensors:
            sizes[self.label(tensor)] = sizes.get(self.label(tensor), 0) + tensor.size
        return tuple(Block(name, size) for name, size in sizes.items())

    def weights(self, tensor: SearchTensor, by_block: Mapping[str, float], key: int, start: int, count: int) -> Weight:
        """One number for the tensor."""
        return by_block.get(self.label(tensor), 0.0)

    def sums(self, tensor: SearchTensor, values: Tensor, key: int, start: int) -> dict[str, float]:
        """All in the tensor's block."""
        return {self.label(tensor): float(values.sum(dtype=torch.float64))}


@dataclass(frozen=True)
class RandomParts:
    """`count` random disjoint subspaces, redrawn with every step's key, or the same for all steps."""

    count: int
    redraw: bool = True
    device: torch.device | str = "cpu"

    @property
    def redrawn(self) -> bool:
        """As it was made."""
        return self.redraw

    def blocks(self, tensors: Sequence[SearchTensor]) -> tuple[Block, ...]:
        """part-0 ... part-(K-1), of the expected size."""
        total = sum(tensor.size for tensor in tensors)
        edges = [total * part // self.count for part in range(self.count + 1)]
        return tuple(Block(f"part-{k}", edges[k + 1] - edges[k]) for k in range(self.count))

    def weights(self, tensor: SearchTensor, by_block: Mapping[str, float], key: int, start: int, count: int) -> Weight:
        """A number for each element."""
        if not any(by_block.values()):
            return 0.0
        table = torch.tensor([by_block.get(f"part-{k}", 0.0) for k in range(self.count)], device=self.device)
        return table.index_select(0, self._parts(tensor, key, start, count))

    def sums(self, tensor: SearchTensor, values: Tensor, key: int, start: int) -> dict[str, float]:
        """By the part of each element."""
        found = self._parts(tensor, key, start, len(values))
        # On the CPU, where a sum has one order.
        sums = torch.bincount(found.cpu(), weights=values.double().cpu(), minlength=self.count)
        return {f"part-{k}": float(sums[k]) for k in range(self.count)}

    def _parts(self, tensor: SearchTensor, key: int, start: int, count: int) -> Tensor:
        return _last_parts(key if self.redraw else 0, tensor.name, start, count, self.count, self.device)


# All directions of an update ask for one range after the other. Nobody writes into what comes out.
_last_parts = functools.lru_cache(maxsize=1)(parts)


def by_owner(tensor: SearchTensor) -> str:
    """The module that owns the tensor."""
    return tensor.owner


def by_layer(tensor: SearchTensor) -> str:
    """layer-07, or `outside` for what is in no layer."""
    return f"layer-{tensor.layer:02d}" if tensor.layer >= 0 else "outside"


def by_kind(tensor: SearchTensor) -> str:
    """The kind of layer that the tensor acts in."""
    return tensor.kind


def together(tensor: SearchTensor) -> str:
    """The same block for all."""
    return "whole"


LABELS: dict[str, Callable[[SearchTensor], str]] = {
    "module": by_owner,
    "layer": by_layer,
    "kind": by_kind,
    "whole": together,
}


def make_partition(name: str, parts: int, redraw: bool, device: torch.device | str = "cpu") -> Partition:
    """The partition called `name`, which must be known, of numbers that lie on `device`."""
    return RandomParts(parts, redraw, device) if name == "random" else Grouped(LABELS[name])
