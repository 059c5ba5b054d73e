"""Noise of low rank, as EGGROLL scales it (Sarkar et al. 2025, arXiv 2511.16652).

    E = A B^T / sqrt(r)        A [out, r], B [in, r] independent numbers of the tensor's own streams

Every element of E has mean 0 and variance 1, and distinct elements are uncorrelated. A member needs the two factors
alone; a weighted sum over members is one matrix product and has full rank:

    sum_i w_i E_i = [w_1 A_1 | w_2 A_2 | ...] [B_1 | B_2 | ...]^T / sqrt(r)

The product is taken in fp64 over blocks of rows that lie on a fixed grid and have one shape, so that no element depends
on the range that was asked for. Tensors without rows get independent numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.core.noise import draw
from esagent.errors import ConfigError
from esagent.spaces.forms import Dense
from esagent.spaces.partitions import Weight
from esagent.spaces.tensors import SearchTensor

_ROWS = 64


class LowRank:
    """Noise of rank `rank` on all matrices, made on `device`."""

    def __init__(self, rank: int, device: torch.device | str = "cpu", law: Law = "gaussian") -> None:
        self.rank = rank
        self._device = device
        self._law: Law = law
        self._dense = Dense(device, law)
        self._stacked_for: tuple[str, tuple[int, ...]] | None = None
        self._ups = self._downs = torch.empty(0)

    def on(self, device: torch.device | str) -> LowRank:
        """The same noise, made on another device."""
        return LowRank(self.rank, device, self._law)

    def factors(self, seed: int, tensor: SearchTensor) -> tuple[Tensor, Tensor]:
        """A [out, r] and B [in, r] of a matrix under direction `seed`, float32."""
        return self._left(seed, tensor, tensor.size // tensor.row), self._right(seed, tensor)

    def draw(self, seed: int, tensor: SearchTensor, start: int, count: int) -> Tensor:
        """The elements [start, start + count) of E, whole rows of a matrix: float32 [count]."""
        return self.total([(seed, 1.0)], tensor, start, count).float()

    def add(
        self, values: Tensor, seed: int, weight: Weight, tensor: SearchTensor, start: int, out: Tensor | None = None
    ) -> Tensor:
        """A range of E, then a product and a sum."""
        moved = values + weight * self.draw(seed, tensor, start, len(values))
        return moved if out is None else out.copy_(moved)

    def total(self, terms: Sequence[tuple[int, Weight]], tensor: SearchTensor, start: int, count: int) -> Tensor:
        """sum_i weight_i E(seed_i) of the same elements: float64 [count]."""
        if not tensor.row:
            return self._dense.total(terms, tensor, start, count)
        weights: dict[int, float] = {}
        for seed, weight in terms:
            if isinstance(weight, Tensor):
                raise ConfigError(f"{tensor.name}: noise of low rank has one sigma for all numbers of a matrix")
            if weight != 0.0:
                weights[seed] = weights.get(seed, 0.0) + weight
        if not weights:
            return torch.zeros(count, dtype=torch.float64, device=self._device)
        self._stack(tuple(weights), tensor)
        by_column = torch.tensor(list(weights.values()), dtype=torch.float64, device=self._device) / self.rank**0.5
        by_column = by_column.repeat_interleave(self.rank)
        across = self._downs.double().T
        first, last = start // tensor.row // _ROWS, -(-(start + count) // (tensor.row * _ROWS))
        parts = [
            (self._ups[at : at + _ROWS].double() * by_column) @ across
            for at in range(first * _ROWS, last * _ROWS, _ROWS)
        ]
        offset = start - first * _ROWS * tensor.row
        return torch.cat(parts).flatten()[offset : offset + count]

    def _stack(self, seeds: tuple[int, ...], tensor: SearchTensor) -> None:
        """Factors of several directions side by side, kept until other ones are asked for: ranges come in a row."""
        if self._stacked_for == (tensor.name, seeds):
            return
        rows = -(-tensor.size // (tensor.row * _ROWS)) * _ROWS  # to the end of the last block
        self._ups = torch.cat([self._left(seed, tensor, rows) for seed in seeds], dim=1)
        self._downs = torch.cat([self._right(seed, tensor) for seed in seeds], dim=1)
        self._stacked_for = tensor.name, seeds

    def _left(self, seed: int, tensor: SearchTensor, rows: int) -> Tensor:
        drawn = draw(self._law, seed, f"{tensor.name}/A", 0, rows * self.rank, self._device)
        return drawn.view(rows, self.rank)

    def _right(self, seed: int, tensor: SearchTensor) -> Tensor:
        drawn = draw(self._law, seed, f"{tensor.name}/B", 0, tensor.row * self.rank, self._device)
        return drawn.view(tensor.row, self.rank)
