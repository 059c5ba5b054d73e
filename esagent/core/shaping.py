"""Reward shaping: from the rewards of one step's members to the weights of the estimate.

Every function returns finite float64 weights [members] with mean 0. A member whose fitness is not finite (or beyond the
range of float32) ranks worst. Equal fitness, and a step in which every member failed, give weights of exactly zero:
there is nothing to learn from it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
ShapingName = Literal["none", "zscore", "block_zscore", "ranks", "group"]

_EPS = 1e-8
_LARGEST = float(np.finfo(np.float32).max)


def shape(name: ShapingName, rewards: Floats, *, groups: Sequence[str] = (), blocks: Sequence[Hashable] = ()) -> Floats:
    """Weights [members] of rewards [members, tasks].

    groups: the group of each task, for `group`; without them every task is its own.
    blocks: what each member perturbs, for `block_zscore`; without them all perturb the same.
    """
    if name == "group":
        return group_zscore(rewards, groups)
    fitness = member_fitness(rewards)
    if name == "block_zscore":
        return block_zscore(fitness, blocks)
    return SHAPINGS[name](fitness)


def centred(fitness: Floats) -> Floats:
    """f - mean(f), for fitness [members]. A failed member counts as the worst finite one."""
    filled = _worst_for_failed(fitness)
    return np.zeros_like(filled) if _flat(filled) else filled - filled.mean()


def zscore(fitness: Floats) -> Floats:
    """(f - mean(f)) / (std(f) + 1e-8) over all members, population std (Agentic ESOpt, arXiv 2608.17310, its code)."""
    filled = _worst_for_failed(fitness)
    return np.zeros_like(filled) if _flat(filled) else (filled - filled.mean()) / (filled.std() + _EPS)


def centred_ranks(fitness: Floats) -> Floats:
    """rank(f) / (n - 1) - 1/2 in [-1/2, 1/2], ties averaged (Salimans et al. 2017, arXiv 1703.03864, section 2.2).

    A failed member ranks strictly below every finite one.
    """
    ok = _finite(fitness)
    ranked = np.where(ok, fitness, -np.inf)
    if not ok.any() or _flat(ranked):
        return np.zeros(len(ranked))
    return (rankdata(ranked) - 1.0) / (len(ranked) - 1) - 0.5


SHAPINGS: dict[str, Callable[[Floats], Floats]] = {"none": centred, "zscore": zscore, "ranks": centred_ranks}


def block_zscore(fitness: Floats, blocks: Sequence[Hashable] = ()) -> Floats:
    """`zscore` within the members that perturb the same blocks: a block whose rewards differ little weighs as much."""
    weights = np.zeros(len(fitness))
    labels = list(blocks) or [None] * len(fitness)
    for label in dict.fromkeys(labels):
        mine = [member for member, found in enumerate(labels) if found == label]
        weights[mine] = zscore(fitness[mine])
    return weights


def group_zscore(rewards: Floats, groups: Sequence[str] = ()) -> Floats:
    """mean_t(c_mt) / (std(c) + 1e-8) with c_mt = r_mt - the mean of the group of task t, over all members.

    The fitness of EGGROLL: a mean for each prompt group and one spread over all rewards. As all members have the same
    tasks, the groups act on the spread alone. A failed member counts as the worst finite one.
    """
    fitness = member_fitness(rewards)
    ok = np.isfinite(fitness)
    if not ok.any():
        return np.zeros(len(fitness))
    worst = int(np.argmin(np.where(ok, fitness, np.inf)))
    if _flat(np.where(ok, fitness, fitness[worst])):
        return np.zeros(len(fitness))
    rest = np.where(ok[:, None], rewards, rewards[worst])
    labels = np.array(list(groups) or range(rewards.shape[1]))
    for label in np.unique(labels):
        rest[:, labels == label] -= rest[:, labels == label].mean()
    weights: Floats = rest.mean(axis=1) / (rest.std() + _EPS)
    return weights


def member_fitness(rewards: Floats) -> Floats:
    """Mean reward of each member: rewards [members, tasks] to [members]; nan where any of its rewards is not finite.

    Rounded to 12 decimals: members that earned the same are equal, in whatever order it is summed.
    """
    finite = _finite(rewards)
    means = np.where(finite, rewards, 0.0).mean(axis=1).round(12)
    return np.where(np.logical_and.reduce(finite, axis=1), means, np.nan)


def _finite(values: Floats) -> NDArray[np.bool_]:
    return np.less_equal(np.abs(np.nan_to_num(values, nan=np.inf)), _LARGEST)


def _flat(values: Floats) -> bool:
    return bool((values == values[:1]).all())


def _worst_for_failed(fitness: Floats) -> Floats:
    ok = _finite(fitness)
    return np.where(ok, fitness, fitness[ok].min() if ok.any() else 0.0).astype(np.float64)
