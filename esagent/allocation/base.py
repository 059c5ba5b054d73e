"""The seam of allocation: credit in, directions and sigma per block out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from esagent.core.population import Block
from esagent.errors import ConfigError


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


def checked_names(blocks: Sequence[Block], directions: int, sigma: Mapping[str, float]) -> list[str]:
    """Names of the blocks in order of name. Raises ConfigError when an allocation over them is not possible."""
    names = sorted(block.name for block in blocks)
    problems = []
    if not names:
        problems.append("there is no block to perturb")
    if directions < 1:
        problems.append(f"directions must be at least 1, not {directions}")
    problems += [f"no sigma for block {name!r}" for name in names if name not in sigma]
    if problems:
        raise ConfigError(*problems)
    return names
