"""How noise lies in a tensor: independent numbers (dense), or a product of two thin factors (`factored.py`).

A form is a pure function of (direction seed, tensor, element range); perturbation, update, replay and audit all use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from esagent.core.noise import gaussian
from esagent.spaces.partitions import Weight
from esagent.spaces.tensors import SearchTensor


class NoiseForm(Protocol):
    """Ranges start and end where rows do, except for forms whose elements are independent."""

    def draw(self, seed: int, tensor: SearchTensor, start: int, count: int) -> Tensor:
        """Unit-variance noise of the elements [start, start + count) under direction `seed`: float32 [count]."""
        ...

    def total(self, terms: Sequence[tuple[int, Weight]], tensor: SearchTensor, start: int, count: int) -> Tensor:
        """sum_i weight_i eps(seed_i) over the terms, in their order: float64 [count]."""
        ...


@dataclass(frozen=True)
class Dense:
    """Independent standard normal numbers, made on `device`."""

    device: torch.device | str = "cpu"

    def draw(self, seed: int, tensor: SearchTensor, start: int, count: int) -> Tensor:
        """Noise of the tensor's own stream."""
        return gaussian(seed, tensor.name, start, count, self.device)

    def total(self, terms: Sequence[tuple[int, Weight]], tensor: SearchTensor, start: int, count: int) -> Tensor:
        """One direction after the other."""
        total = torch.zeros(count, dtype=torch.float64, device=self.device)
        for seed, weight in terms:
            if isinstance(weight, Tensor) or weight != 0.0:
                total += weight * self.draw(seed, tensor, start, count).double()
        return total
