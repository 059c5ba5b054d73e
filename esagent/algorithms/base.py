"""The seam of a search algorithm: ask for a population, tell it the rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from esagent.allocation.base import Allocation
from esagent.core.population import Population, Update


class Strategy(Protocol):
    """Stateless between steps: everything it needs is in its settings, the step and the arguments."""

    def ask(self, step: int, allocation: Allocation) -> Population:
        """The population of `step`: one perturbation per direction, or its antithetic pair."""
        ...

    def tell(
        self,
        population: Population,
        rewards: NDArray[np.float64],
        *,
        step_size: Mapping[str, float],
        groups: Sequence[str] = (),
    ) -> Update:
        """Turn rewards [members, tasks] into an update.

        Non-finite rewards rank worst; equal rewards give a zero update. `groups` names each task column's group.
        """
        ...
