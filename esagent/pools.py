"""The fixed pools of a run, proven disjoint, and the tasks of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from esagent.config.schema import TaskConfig
from esagent.core.episode import Task
from esagent.core.noise import key, permutation
from esagent.errors import RunError
from esagent.tasks.base import TaskFamily


@dataclass(frozen=True)
class Pools:
    """Tasks to train on, to choose a state by, and to report on."""

    pool: tuple[Task, ...]
    validation: tuple[Task, ...]
    heldout: tuple[Task, ...]


def make_pools(family: TaskFamily, config: TaskConfig, seed: int) -> Pools:
    """The pools of run `seed`. Raises RunError when two of them share a task's content, naming one such task."""
    pools = Pools(
        tuple(family.tasks("train", seed, config.pool)),
        tuple(family.tasks("validation", seed, config.validation)),
        tuple(family.tasks("heldout", seed, config.heldout)),
    )
    _check_disjoint(pools)
    return pools


def step_tasks(pool: Sequence[Task], seed: int, step: int, count: int) -> list[Task]:
    """The `count` tasks that all members of `step` share.

    Drawn without replacement: each epoch of len(pool) // count steps walks a fresh permutation keyed by (seed, epoch).
    """
    epoch, place = divmod(step, len(pool) // count)
    order = permutation(key("step tasks", seed, epoch), len(pool))
    return [pool[i] for i in order[place * count : (place + 1) * count]]


def _check_disjoint(pools: Pools) -> None:
    owner: dict[str, tuple[str, str]] = {}
    for split in ("pool", "validation", "heldout"):
        for task in getattr(pools, split):
            other, id_there = owner.setdefault(task.content_hash, (split, task.id))
            if other != split:
                raise RunError(
                    f"task {task.id!r} of {split} is also in {other} (as {id_there!r}); pools must not overlap"
                )
