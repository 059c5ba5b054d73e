"""Every direction perturbs every block at once: the standard evolution strategy (ES at Scale, arXiv 2509.24372)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.allocation.base import Allocation, checked_names
from esagent.core.population import Block


@dataclass(frozen=True)
class Joint:
    """One vector over all blocks per direction."""

    def allocate(
        self,
        *,
        step: int,
        blocks: Sequence[Block],
        directions: int,
        sigma: Mapping[str, float],
        credit: Mapping[str, float],
    ) -> Allocation:
        """Give every direction all blocks. Raises ConfigError when there is no block, direction or sigma."""
        names = checked_names(blocks, directions, sigma)
        return Allocation(tuple({name: sigma[name] for name in names} for _ in range(directions)))
