"""Every direction perturbs every block at once: the standard evolution strategy (ES at Scale, arXiv 2509.24372)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.allocation.base import Allocation, Evidence, checked_names
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
        evidence: Evidence,
    ) -> Allocation:
        """Give every direction all blocks. Raises ConfigError when there is no block, direction or sigma."""
        names = checked_names(blocks, directions, sigma)
        scales = {name: sigma[name] for name in names}
        return Allocation(
            tuple(dict(scales) for _ in range(directions)),
            target=dict.fromkeys(names, float(directions)),
            sigma=scales,
            step_scale=dict.fromkeys(names, 1.0),
        )
