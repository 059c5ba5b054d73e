"""Confidence intervals over tasks for one agent's mean reward and for the paired gain of one agent over another.

The unit of analysis is the task: repeated measurements of one task are averaged before anything else, so writing every
repetition down twice changes no interval.

Method: the bias-corrected and accelerated bootstrap (BCa; Efron 1987, "Better bootstrap confidence intervals"), which
follows the skew of bounded rewards. Below `SMALL` tasks it is known to be too narrow, and where its correction is
undefined (nearly all values alike) it has no answer: then Student's t-interval is given. Values that are all equal
give an interval of width 0: they show no variation to infer from. One task alone gives (nan, nan).

These intervals speak about other tasks for this one pair of agents; they say nothing about other training seeds.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from esagent.errors import ConfigError

SMALL = 20
"""Fewest tasks for which the bootstrap is used."""
RESAMPLES = 9999


class Gain(NamedTuple):
    """Mean of trained - base over tasks, with its interval."""

    gain: float
    low: float
    high: float


class Interval(NamedTuple):
    """A mean over tasks, with its interval."""

    mean: float
    low: float
    high: float


def paired_gain(
    base: ArrayLike, trained: ArrayLike, tasks: Sequence[str] | None = None, confidence: float = 0.95
) -> Gain:
    """Interval for the mean paired difference, item level.

    base, trained: rewards, shape [n], entry i of both on the same task. tasks: task id of every entry, length n;
    entries of one id are averaged first. Without ids every entry counts as a task of its own.
    Raises ConfigError for unequal lengths, no entry, or values that are not finite.
    """
    first, second = _values(base, "base"), _values(trained, "trained")
    if len(first) != len(second):
        raise ConfigError(f"a paired gain needs both rewards of every task: {len(first)} base, {len(second)} trained")
    return Gain(*_interval(_per_task(second - first, tasks), confidence))


def mean_interval(values: ArrayLike, tasks: Sequence[str] | None = None, confidence: float = 0.95) -> Interval:
    """Interval for the mean over tasks. Arguments and errors as in `paired_gain`."""
    return Interval(*_interval(_per_task(_values(values, "values"), tasks), confidence))


def _values(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ConfigError(f"{name} must be a list of at least one number, not of shape {list(array.shape)}")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ConfigError(f"{name}[{where}] is {array[where]}; drop tasks without a score from both sides first")
    return array


def _per_task(values: NDArray[np.float64], tasks: Sequence[str] | None) -> NDArray[np.float64]:
    """One mean per task, sorted, so that the order of tasks cannot matter."""
    if tasks is None:
        return np.sort(values)
    if len(tasks) != len(values):
        raise ConfigError(f"{len(tasks)} task ids do not fit {len(values)} values")
    _, index = np.unique(np.asarray(tasks, dtype=str), return_inverse=True)
    return np.sort([float(np.mean(np.sort(values[index == i]))) for i in range(index.max() + 1)])


def _interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, float("nan"), float("nan")
    if np.ptp(values) < 1e-12:
        return mean, mean, mean
    if len(values) >= SMALL:
        low, high = _bca(values, confidence)
        if np.isfinite(low) and np.isfinite(high):
            return mean, low, high
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * stats.sem(values))
    return mean, mean - half, mean + half


def _bca(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """BCa limits of the mean; nan where undefined. The generator is keyed by the data: equal data, equal limits."""
    # Rounded, so that the last bit of a mean over doubled repetitions does not draw other resamples.
    seed = int.from_bytes(hashlib.sha256(np.round(values, 12).tobytes()).digest()[:16], "little")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (values,),
            np.mean,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=1000,
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
