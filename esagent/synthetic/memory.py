"""What arms of a study share because they share seeds: tasks, their difficulties, the noise of directions, all draws.

Everything here follows from keys, so that keeping it changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from esagent.allocation.single import step_draws
from esagent.config.schema import TaskConfig
from esagent.core.chain import Floats
from esagent.core.episode import Task
from esagent.core.laws import Law
from esagent.core.noise import draw
from esagent.credit.noise import blame_draws
from esagent.pools import make_pools
from esagent.task_sampling import epoch_tasks
from esagent.tasks.registry import make_family
from esagent.tasks.synthetic import difficulty

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Pool:
    """Tasks of a run and how hard they are for each module: [T, M]."""

    tasks: tuple[Task, ...]
    difficulty: Floats


class Memory:
    """Grows with the seeds and steps that are asked for; `most` entries of noise at a time."""

    def __init__(self, most: int = 400_000) -> None:
        self._most = most
        self._noise: dict[tuple[Law, int, str, int], NDArray[np.float32]] = {}
        self._kept: dict[Hashable, Any] = {}

    def noise(self, law: Law, seeds: Sequence[int], tensor: str, size: int) -> NDArray[np.float32]:
        """The noise of `tensor` under each of `seeds`: [len(seeds), size]."""
        if len(self._noise) > self._most:
            self._noise.clear()
        return np.stack([self._row(law, seed, tensor, size) for seed in seeds])

    def pools(self, config: TaskConfig, seed: int) -> dict[str, Pool]:
        """Training pool and held-out tasks of run `seed`."""
        chain = config.chain
        place = "pools", seed, config.pool, config.validation, config.heldout, tuple(chain.modules)

        def make() -> dict[str, Pool]:
            made = make_pools(make_family(config), config, seed)
            return {
                name: Pool(tasks, _difficulties(tasks, chain.modules))
                for name, tasks in (("pool", made.pool), ("heldout", made.heldout))
            }

        return self._once(place, make)

    def drawn(self, pool: Sequence[Task], seed: int, step: int, count: int) -> list[int]:
        """Places in the pool of the tasks of a step."""

        def make() -> list[int]:
            place = {task.id: number for number, task in enumerate(pool)}
            return [place[task.id] for task in epoch_tasks(pool, seed, step, count)]

        return self._once(("drawn", seed, step, count, len(pool)), make)

    def allocation(self, seed: int, step: int, names: tuple[str, ...]) -> Floats:
        """The draws that a step's allocation may use: [M]."""
        return self._once(("allocation", seed, step, names), lambda: step_draws(seed, step, names))

    def blame(self, seed: int, step: int, episodes: int) -> Floats:
        """The draws of a step's credit noise: [episodes, 2]."""
        return self._once(("blame", seed, step, episodes), lambda: blame_draws(seed, step, episodes))

    def _row(self, law: Law, seed: int, tensor: str, size: int) -> NDArray[np.float32]:
        place = law, seed, tensor, size
        if place not in self._noise:
            self._noise[place] = draw(law, seed, tensor, 0, size).numpy()
        return self._noise[place]

    def _once(self, place: Hashable, make: Callable[[], _Made]) -> _Made:
        if place not in self._kept:
            self._kept[place] = make()
        found: _Made = self._kept[place]
        return found


def _difficulties(tasks: Sequence[Task], modules: Sequence[str]) -> Floats:
    hard = [difficulty(task.prompt, module) for task in tasks for module in modules]
    return np.array(hard).reshape(len(tasks), len(modules))
