"""The seam of allocation: what is known about the blocks in, directions and scales per block out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from esagent.allocation.history import History
from esagent.core.population import Block
from esagent.errors import ConfigError


@dataclass(frozen=True)
class Evidence:
    """What an allocation may go by, all of it from the journal; blocks that are not named count as equal.

    credit: share of failures by module. reached: probability that an episode reaches a module with nothing gone wrong
    before. history: what earlier steps spent.
    """

    credit: Mapping[str, float] = field(default_factory=dict)
    reached: Mapping[str, float] = field(default_factory=dict)
    history: History = field(default_factory=History)


@dataclass(frozen=True)
class Allocation:
    """How one step spends its directions.

    directions: for each of the step's N directions, the sigma of every block it perturbs (others are left alone).
    target: the real number of directions that each block was meant to have. sigma: by block. step_scale: factor on the
    step size of each block.
    """

    directions: tuple[Mapping[str, float], ...]
    target: Mapping[str, float]
    sigma: Mapping[str, float]
    step_scale: Mapping[str, float]

    def counts(self) -> dict[str, int]:
        """Number of directions that perturb each block, also of those that none does."""
        out = dict.fromkeys(self.target, 0)
        for direction in self.directions:
            for name in direction:
                out[name] += 1
        return out

    def scaled(self, step_size: Mapping[str, float]) -> dict[str, float]:
        """Step sizes by block, times their factors."""
        return {name: size * self.step_scale.get(name, 1.0) for name, size in step_size.items()}


class Allocator(Protocol):
    """One scheme. Pure: the same arguments give the same allocation, so that resume carries no state."""

    def allocate(
        self,
        *,
        step: int,
        blocks: Sequence[Block],
        directions: int,
        sigma: Mapping[str, float],
        evidence: Evidence,
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
