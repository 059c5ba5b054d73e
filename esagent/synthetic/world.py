"""The chain of many runs at once: arrays with a leading axis of runs, by the operations that one run uses.

What a run's backend does number by number (`backends.synthetic`, `spaces.parameters`) is done here for all runs of an
arm together, in the same number formats and the same order, so that every bit agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from esagent.backends.synthetic.skills import make_skills
from esagent.config.schema import ChainConfig
from esagent.core.chain import Floats, skill, squared_distance
from esagent.core.episode import Task
from esagent.core.laws import Law
from esagent.core.noise import draw
from esagent.core.population import Population, Update
from esagent.tasks.synthetic import difficulty

Noise = NDArray[np.float32]


class NoiseMemory:
    """Noise of directions, kept: arms of a study share their seeds, and so their noise."""

    def __init__(self, most: int = 400_000) -> None:
        self._most = most
        self._kept: dict[tuple[Law, int, str, int], Noise] = {}

    def rows(self, law: Law, seeds: Sequence[int], tensor: str, size: int) -> Noise:
        """The noise of `tensor` under each of `seeds`: float32 [len(seeds), size]."""
        if len(self._kept) > self._most:
            self._kept.clear()
        return np.stack([self._row(law, seed, tensor, size) for seed in seeds])

    def _row(self, law: Law, seed: int, tensor: str, size: int) -> Noise:
        place = law, seed, tensor, size
        if place not in self._kept:
            self._kept[place] = draw(law, seed, tensor, 0, size).numpy()
        return self._kept[place]


class World:
    """The searched numbers of `runs` runs, all at the start."""

    def __init__(
        self, chain: ChainConfig, searched: Sequence[str], runs: int, memory: NoiseMemory, law: Law = "gaussian"
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

    def _noise(self, name: str, seeds: Sequence[int]) -> Noise:
        tensor = self._skills[name].tensor
        return self._memory.rows(self._law, seeds, tensor.name, tensor.size)

    def _skill(self, name: str, theta: NDArray[np.float32]) -> Floats:
        found = self._skills[name]
        return skill(squared_distance(theta, found.optimum), found.ceiling, found.width)


def difficulties(tasks: Sequence[Task], modules: Sequence[str]) -> Floats:
    """Of every task for every module: [T, M]."""
    return np.array([[difficulty(task.prompt, module) for module in modules] for task in tasks]).reshape(
        -1, len(modules)
    )


def by_module(values: Mapping[str, float], modules: Sequence[str]) -> Floats:
    """`values` in the order of `modules`: [M], 0 where there is none."""
    return np.array([values.get(name, 0.0) for name in modules])
