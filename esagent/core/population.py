"""The types an evolution strategy speaks: blocks, perturbations, populations and updates.

None of them holds a tensor. A perturbation is a seed with a sign and a scale per block; whoever holds the base
weights can rebuild it, which is why messages and journals stay small at any model size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Block:
    """A named part of the searched parameters that can be perturbed by itself; `size` counts its numbers."""

    name: str
    size: int


@dataclass(frozen=True)
class Perturbation:
    """`theta + sign * sigma[b] * eps(seed)` on every block b in `sigma`; blocks not named stay as they are.

    seed: 64-bit key of the direction, from (run seed, step, direction). Antithetic twins share it.
    sign: +1 or -1.
    sigma: perturbation scale per block, in units of the block's own scale (see the space).
    partition: 64-bit key of the step, from which a space whose blocks are drawn anew each step draws them.
    """

    seed: int
    sign: int
    sigma: Mapping[str, float]
    partition: int = 0


@dataclass(frozen=True)
class Population:
    """The perturbations of one step. Members 2i and 2i+1 are the +/- pair of direction i when `antithetic`."""

    step: int
    members: tuple[Perturbation, ...]
    antithetic: bool = True

    @property
    def directions(self) -> int:
        """Number of independent noise vectors."""
        return len(self.members) // 2 if self.antithetic else len(self.members)


@dataclass(frozen=True)
class UpdateTerm:
    """One direction's share of the estimate: `coefficient[b] * eps(seed)` on block b."""

    seed: int
    coefficient: Mapping[str, float]


@dataclass(frozen=True)
class Update:
    """What `tell` decided: replayable from seeds alone.

    The estimate of block b is `g_b = sum_terms coefficient[b] * eps_b(seed)`. With `rule="plain"` the step is
    `theta_b += step_size[b] * g_b`, both in units of the block's own scale. `normalise` first divides the estimate by
    an RMS: its own (`block`, so `step_size` is the RMS length of every plain step) or the RMS over all blocks (`total`,
    so that a block whose rewards differed little moves less); a zero estimate stays zero.
    `scalars` carries the settings of the rule (`momentum`; `beta1`, `beta2`) and `pull`: with it, a step also takes
    `pull * step_size[b]` of the way back to where the parameters were before the first such step.
    `partition` is that of the perturbations that were evaluated.
    """

    step: int
    terms: tuple[UpdateTerm, ...]
    step_size: Mapping[str, float]
    rule: Literal["plain", "momentum", "adam"] = "plain"
    normalise: Literal["none", "block", "total"] = "none"
    scalars: Mapping[str, float] = field(default_factory=dict)
    partition: int = 0
