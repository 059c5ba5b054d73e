"""The seam of allocation: credit in, directions and sigma per block out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from esagent.core.population import Block


@dataclass(frozen=True)
class Allocation:
    """How one step spends its directions.

    directions: for each of the step's N directions, the sigma of every block it perturbs (others are left alone).
    """

    directions: tuple[Mapping[str, float], ...]

    def counts(self) -> dict[str, int]:
        """Number of directions that perturb each block."""
        out: dict[str, int] = {}
        for direction in self.directions:
            for name in direction:
                out[name] = out.get(name, 0) + 1
        return out


class Allocator(Protocol):
    """One scheme. Pure: the same arguments give the same allocation, so that resume carries no state."""

    def allocate(
        self,
        *,
        step: int,
        blocks: Sequence[Block],
        directions: int,
        sigma: Mapping[str, float],
        credit: Mapping[str, float],
    ) -> Allocation:
        """Spend exactly `directions` directions over `blocks`. Invariant to the order of `blocks`."""
        ...
