"""Paired comparison of two trained agents task by task: a statement about other tasks, for these two agents alone.

This is the other level. Training seeds are the unit where methods are compared (`compare`); here tasks are, within one
seed. The two are never mixed: items of several seeds are not poured together, for three seeds of a hundred episodes are
three trainings and not three hundred. Repeated measurements of a task are averaged before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esagent.errors import ConfigError
from esagent.stats.intervals import Gain, paired_gain
from esagent.stats.signflip import SignFlip, sign_flip


@dataclass(frozen=True)
class Items:
    """What one agent, trained with `seed`, earned: rewards[i] on the task with id tasks[i]; ids may repeat."""

    arm: str
    seed: int
    tasks: tuple[str, ...]
    rewards: tuple[float, ...]


@dataclass(frozen=True)
class ItemComparison:
    """arm - baseline over the n tasks that both were scored on, for agents of one training seed.

    left_out: tasks that one of them alone was scored on.
    """

    arm: str
    baseline: str
    seed: int
    n: int
    left_out: int
    test: SignFlip
    interval: Gain


def compare_items(baseline: Items, arm: Items, confidence: float = 0.95) -> ItemComparison:
    """Exact sign-flip test and interval (BCa bootstrap) over tasks.

    Raises ConfigError when the two are of different training seeds, or share no task.
    """
    if baseline.seed != arm.seed:
        raise ConfigError(
            f"tasks of seed {baseline.seed} against tasks of seed {arm.seed}: items are compared within one training "
            "seed; claims over seeds take one number per seed"
        )
    first, second = _means(baseline), _means(arm)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise ConfigError(f"{arm.arm} and {baseline.arm}, seed {arm.seed}: no task was scored for both")
    base, other = (np.array([means[task] for task in shared]) for means in (first, second))
    left_out = len(first.keys() ^ second.keys())
    return ItemComparison(
        arm.arm,
        baseline.arm,
        arm.seed,
        len(shared),
        left_out,
        sign_flip(other - base),
        paired_gain(base, other, confidence=confidence),
    )


def _means(items: Items) -> dict[str, float]:
    if len(items.tasks) != len(items.rewards):
        raise ConfigError(f"{items.arm}, seed {items.seed}: {len(items.tasks)} tasks, {len(items.rewards)} rewards")
    found: dict[str, list[float]] = {}
    for task, reward in zip(items.tasks, items.rewards, strict=True):
        found.setdefault(task, []).append(reward)
    return {task: float(np.mean(rewards)) for task, rewards in found.items()}
