"""The members that guards try: real ones, of the first step of the run that is looked at."""

from __future__ import annotations

from esagent.allocation.base import Evidence
from esagent.assemble import Parts
from esagent.config.limits import known_steps
from esagent.config.schema import Config
from esagent.core.population import Perturbation

MOST, MOST_IN_PLACE = 4, 1


def first_members(config: Config, parts: Parts) -> tuple[Perturbation, ...]:
    """Of the population of step 0 one member for each block, in order, until `MOST` are found.

    Where a member has to be written into the model, `MOST_IN_PLACE`: it costs as much as the rest of the probe.
    """
    sigma, _ = parts.scales.at(0, known_steps(config) or 1)
    allocation = parts.allocator.allocate(
        step=0,
        blocks=parts.backend.blocks(),
        directions=config.algorithm.directions,
        sigma=sigma,
        evidence=Evidence(),
    )
    most = MOST if parts.backend.together is None else MOST_IN_PLACE
    chosen: list[Perturbation] = []
    covered: set[str] = set()
    for member in parts.strategy.ask(0, allocation).members:
        if len(chosen) < most and not covered.issuperset(member.sigma):
            chosen.append(member)
            covered.update(member.sigma)
    return tuple(chosen)
