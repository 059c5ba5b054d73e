"""Reward shaping: from the rewards of one step's members to the weights of the estimate.

Every function takes fitness [members] and returns finite float64 weights [members] with mean 0. A member whose fitness
is not finite (or beyond the range of float32) ranks worst. Equal fitness, and a step in which every member failed,
give weights of exactly zero: there is nothing to learn from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
ShapingName = Literal["none", "zscore", "ranks"]

_EPS = 1e-8
_LARGEST = float(np.finfo(np.float32).max)


def centred(fitness: Floats) -> Floats:
    """f - mean(f). A failed member counts as the worst finite one."""
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


SHAPINGS: dict[ShapingName, Callable[[Floats], Floats]] = {"none": centred, "zscore": zscore, "ranks": centred_ranks}


def member_fitness(rewards: Floats) -> Floats:
    """Mean reward of each member: rewards [members, tasks] to [members]; nan where any of its rewards is not finite."""
    finite = _finite(rewards)
    means = np.where(finite, rewards, 0.0).mean(axis=1)
    return np.where(np.logical_and.reduce(finite, axis=1), means, np.nan)


def _finite(values: Floats) -> NDArray[np.bool_]:
    return np.less_equal(np.abs(np.nan_to_num(values, nan=np.inf)), _LARGEST)


def _flat(values: Floats) -> bool:
    return bool((values == values[:1]).all())


def _worst_for_failed(fitness: Floats) -> Floats:
    ok = _finite(fitness)
    return np.where(ok, fitness, fitness[ok].min() if ok.any() else 0.0).astype(np.float64)
