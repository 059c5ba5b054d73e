"""The chain of many runs at once: arrays with a leading axis of runs, by the operations that one run uses.

What a run's backend does number by number (`backends.synthetic`, `spaces.parameters`) is done here for all runs of an
arm together, in the same number formats and the same order, so that every bit agrees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esagent.backends.synthetic.skills import make_skills
from esagent.config.schema import ChainConfig
from esagent.core.chain import Floats, skill, squared_distance
from esagent.core.laws import Law
from esagent.core.population import Population, Update
from esagent.synthetic.memory import Memory


class World:
    """The searched numbers of `runs` runs, all at the start."""

    def __init__(
        self, chain: ChainConfig, searched: Sequence[str], runs: int, memory: Memory, law: Law = "gaussian"
    ) -> None:
        self._skills = make_skills(chain)
        self._place = {name: place for place, name in enumerate(chain.modules)}
        self._law: Law = law
        self._memory = memory
        self.theta = {name: np.zeros((runs, chain.size), dtype=np.float32) for name in searched}
        self._rest = np.tile([found.start for found in self._skills.values()], (runs, 1))

    def centres(self) -> Floats:
        """Skills of the unperturbed agents: [runs, M]."""
        found = self._rest.copy()
        for name, theta in self.theta.items():
            found[:, self._place[name]] = self._skill(name, theta)
        return found

    def members(self, populations: Sequence[Population]) -> Floats:
        """Skills of every run's members, equally many in each: [runs, members, M]."""
        found = np.repeat(self.centres()[:, None], len(populations[0].members), axis=1)
        perturbed: dict[str, list[tuple[int, int, int, float]]] = {name: [] for name in self.theta}
        for run, population in enumerate(populations):
            for number, member in enumerate(population.members):
                for name, sigma in member.sigma.items():
                    perturbed[name].append((run, number, member.seed, member.sign * sigma))
        for name, entries in perturbed.items():
            if not entries:
                continue
            runs, numbers, seeds, weights = zip(*entries, strict=True)
            shifts = self._noise(name, seeds) * np.array(weights, dtype=np.float32)[:, None]
            found[runs, numbers, self._place[name]] = self._skill(name, self.theta[name][list(runs)] + shifts)
        return found

    def apply(self, updates: Sequence[Update]) -> dict[str, Floats]:
        """Move each run's numbers by its update, of the plain rule and not normalised.

        Returns the steps, by module [runs, d].
        """
        moved: dict[str, Floats] = {}
        for name, theta in self.theta.items():
            entries = [
                (run, term.seed, term.coefficient[name])
                for run, update in enumerate(updates)
                for term in update.terms
                if name in term.coefficient
            ]
            estimate = np.zeros(theta.shape)
            if entries:
                runs, seeds, coefficients = zip(*entries, strict=True)
                # One after the other, in the order of the terms.
                np.add.at(estimate, list(runs), self._noise(name, seeds).astype(float) * np.array([coefficients]).T)
            rates = np.array([[update.step_size.get(name, 0.0)] for update in updates])
            moved[name] = rates * estimate
            self.theta[name] = (theta + moved[name]).astype(np.float32)
        return moved

    def _noise(self, name: str, seeds: Sequence[int]) -> NDArray[np.float32]:
        tensor = self._skills[name].tensor
        return self._memory.noise(self._law, seeds, tensor.name, tensor.size)

    def _skill(self, name: str, theta: NDArray[np.float32]) -> Floats:
        found = self._skills[name]
        return skill(squared_distance(theta, found.optimum), found.ceiling, found.width)
