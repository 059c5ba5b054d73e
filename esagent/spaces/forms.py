"""How noise lies in a tensor: independent numbers (dense), or a product of two thin factors (`factored.py`).

A form is a pure function of (direction seed, tensor, element range); perturbation, update, replay and audit all use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.core.noise import add_noise, draw
from esagent.spaces.partitions import Weight
from esagent.spaces.tensors import SearchTensor


class NoiseForm(Protocol):
    """Ranges start and end where rows do, except for forms whose elements are independent."""

    def draw(self, seed: int, tensor: SearchTensor, start: int, count: int) -> Tensor:
        """Unit-variance noise of the elements [start, start + count) under direction `seed`: float32 [count]."""
        ...

    def add(
        self, values: Tensor, seed: int, weight: Weight, tensor: SearchTensor, start: int, out: Tensor | None = None
    ) -> Tensor:
        """values + weight eps(seed), values (float32 [n]) being those of the elements from `start` on.

        out: where to write it, in any floating format; a new float32 tensor by default.
        """
        ...

    def total(self, terms: Sequence[tuple[int, Weight]], tensor: SearchTensor, start: int, count: int) -> Tensor:
        """sum_i weight_i eps(seed_i) over the terms, in their order: float64 [count]."""
        ...


@dataclass(frozen=True)
class Dense:
    """Independent numbers of one law, made on `device`."""

    device: torch.device | str = "cpu"
    law: Law = "gaussian"

    def draw(self, seed: int, tensor: SearchTensor, start: int, count: int) -> Tensor:
        """Noise of the tensor's own stream."""
        return draw(self.law, seed, tensor.name, start, count, self.device)

    def add(
        self, values: Tensor, seed: int, weight: Weight, tensor: SearchTensor, start: int, out: Tensor | None = None
    ) -> Tensor:
        """Chunk by chunk."""
        return add_noise(values, self.law, tensor.name, start, [(seed, weight)], out=out)

    def total(self, terms: Sequence[tuple[int, Weight]], tensor: SearchTensor, start: int, count: int) -> Tensor:
        """Chunk by chunk, in each one direction after the other."""
        nothing = torch.zeros((), dtype=torch.float64, device=self.device).expand(count)
        return add_noise(nothing, self.law, tensor.name, start, terms)
