"""Equal shares: a direction perturbs exactly one block, and every block gets the same number of directions.

p_m = 1/M, the reference that credit routing has to beat ("Coverage, Not Credit", arXiv 2608.28011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.allocation.base import Allocation, checked_names
from esagent.core.population import Block


@dataclass(frozen=True)
class Uniform:
    """Round-robin over the blocks in order of name, counted over all steps.

    After any number of steps each block's directions are within 1 of its share N t / M: the remainder of a step goes on
    where the last one stopped. The block that comes first in a step rotates, so that no block owns a direction index.
    """

    def allocate(
        self,
        *,
        step: int,
        blocks: Sequence[Block],
        directions: int,
        sigma: Mapping[str, float],
        credit: Mapping[str, float],
    ) -> Allocation:
        """Spend `directions` on single blocks. Raises ConfigError when there is no block, direction or sigma."""
        names = checked_names(blocks, directions, sigma)
        rounds, rest = divmod(directions, len(names))
        extra = {names[(step * directions + i) % len(names)] for i in range(rest)}
        first = step % len(names)
        order = names[first:] + names[:first]
        chosen = order * rounds + [name for name in order if name in extra]
        return Allocation(tuple({name: sigma[name]} for name in chosen))
