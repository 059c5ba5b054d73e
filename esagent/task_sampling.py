"""Which tasks of the pool a step uses, the same for all its members.

uniform: without replacement; each epoch of len(pool) // count steps walks a fresh permutation keyed by (seed, epoch).

variance: without replacement by weights, so that work goes where members differ. A task that all of them solve, or
none, says nothing about a direction, and costs as much as one that does.

    w_t = FLOOR + v_t / mean(v)

with v_t the variance over the members of the reward of task t in the last step that used it; of a task that was not
used yet it is the mean. Drawn are the `count` largest log w_t + G_t with G_t standard Gumbel noise keyed by (seed,
step, task): sampling without replacement, one after the other in proportion to w (Efraimidis and Spirakis 2006; Kool
et al. 2019, arXiv 1903.06059). Dynamic sampling (DAPO, arXiv 2503.14476) drops prompts whose group has no variance;
here the floor lets them come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from esagent.config.schema import TaskSampling
from esagent.core.episode import Task
from esagent.core.noise import key, permutation, uniform

FLOOR = 0.25
"""Weight of a task without any variance, where the mean of all weights is 1 + FLOOR."""


def step_tasks(
    sampling: TaskSampling, pool: Sequence[Task], seed: int, step: int, count: int, records: Sequence[Mapping[str, Any]]
) -> list[Task]:
    """The `count` tasks of `step`. records: the journal's of the steps before."""
    if sampling is TaskSampling.variance:
        return _by_variance(pool, seed, step, count, reward_variance(records))
    return epoch_tasks(pool, seed, step, count)


def epoch_tasks(pool: Sequence[Task], seed: int, step: int, count: int) -> list[Task]:
    """The `count` tasks of `step`, whatever came before."""
    epoch, place = divmod(step, len(pool) // count)
    order = permutation(key("step tasks", seed, epoch), len(pool))
    return [pool[i] for i in order[place * count : (place + 1) * count]]


def reward_variance(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By task id, the variance of its reward over the members (ddof 0) in the last step that scored it.

    Members with a reward that is not finite say nothing about any task.
    """
    found: dict[str, float] = {}
    for record in records:
        kept = [task for task in record["tasks"] if task not in record["dropped"]]
        rewards = np.array(record["rewards"], dtype=np.float64)
        rewards = rewards[np.isfinite(rewards).all(axis=1)]
        if len(rewards):
            found.update(zip(kept, rewards.var(axis=0).tolist(), strict=True))
    return found


def weights(pool: Sequence[Task], variance: Mapping[str, float]) -> list[float]:
    """w_t of every task of the pool. Equal where no variance is known, or none but zeros."""
    mean = float(np.mean([*variance.values()])) if variance else 0.0
    if not mean > 0.0:
        return [1.0 + FLOOR] * len(pool)
    return [FLOOR + variance.get(task.id, mean) / mean for task in pool]


def _by_variance(pool: Sequence[Task], seed: int, step: int, count: int, variance: Mapping[str, float]) -> list[Task]:
    draws = [float(uniform(key("step tasks by variance", seed, step, task.id), 1)[0]) for task in pool]
    gumbel = -np.log(-np.log(np.clip(draws, 2.0**-54, None)))
    order = np.argsort(-(np.log(weights(pool, variance)) + gumbel), kind="stable")
    return [pool[i] for i in order[:count]]
