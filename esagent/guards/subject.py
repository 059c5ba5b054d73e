"""What guards look at before a run: its settings and parts, and one probe of the model that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from esagent.assemble import Parts
from esagent.backends.base import Backend
from esagent.config.limits import known_steps
from esagent.config.schema import Config
from esagent.core.population import Perturbation
from esagent.guards.finding import Finding
from esagent.guards.members import first_members
from esagent.guards.probes import Probed, probe
from esagent.spaces.parameters import Parameters


@dataclass(frozen=True)
class Subject:
    """A run that is about to start. `parts` are in the state that it starts from, with the sigma it starts with."""

    config: Config
    parts: Parts

    @property
    def searches(self) -> bool:
        """Whether it makes any step at all."""
        return known_steps(self.config) != 0

    @cached_property
    def members(self) -> tuple[Perturbation, ...]:
        """Members of the first step, one for each block as far as a few go; () in a run without steps, and while its
        sigma is still to be found."""
        known = self.searches and not self.config.sigma.auto
        return first_members(self.config, self.parts) if known else ()

    @cached_property
    def probed(self) -> Probed:
        """What the model makes of the centre and of `members`."""
        return probe(self.parts, self.members, self.config.space.modules or self.parts.agent.modules)

    @cached_property
    def parameters(self) -> Parameters | None:
        """The searched numbers, where the backend has them at hand."""
        return parameters_of(self.parts.backend)


Guard = Callable[[Subject], Iterator[Finding]]
"""A guard before a run: what it found, nothing where it has nothing to look at. Raises EsagentErrors of the parts."""


def parameters_of(backend: Backend) -> Parameters | None:
    """The searched numbers of a backend that keeps them in this process; None for one that keeps them elsewhere."""
    owner: Any = getattr(backend, "space", backend)
    found = getattr(owner, "parameters", None)
    return found if isinstance(found, Parameters) else None
