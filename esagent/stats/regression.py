"""A straight line through what a study measured at several levels of something, loss on starvation for one.

    y = intercept + slope x,    R^2 = 1 - sum (y - fit)^2 / sum (y - mean(y))^2

by least squares. Two intervals answer two questions. Over levels: Student's t of k - 2 degrees of freedom for k levels,
which is about lines through such level means. Over seeds: every training seed has a slope of its own, and the sign-flip
interval of these is about other seeds, n being their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.inversion import Limits, checked_confidence, sign_flip_interval
from esagent.stats.signflip import SignFlip, sign_flip


@dataclass(frozen=True)
class LinearFit:
    """n points; `interval` and `p` (two-sided, of no slope) by Student's t, and say nothing at two points.

    r_squared is nan where all y are alike.
    """

    n: int
    slope: float
    intercept: float
    r_squared: float
    interval: Limits
    p: float
    confidence: float
    residual: float  # standard deviation around the line, n - 2
    centre: float  # mean of x
    spread: float  # sum of squared distances of x from it

    def at(self, x: ArrayLike) -> NDArray[np.float64]:
        """The line at `x`, of any shape."""
        return self.intercept + self.slope * np.asarray(x, dtype=np.float64)

    def band(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits of the mean of y at `x` (pointwise); infinite at two points."""
        if self.n == 2:
            return self.at(x) - np.inf, self.at(x) + np.inf
        away = np.asarray(x, dtype=np.float64) - self.centre
        half = _quantile(self.confidence, self.n) * self.residual * np.sqrt(1 / self.n + away**2 / self.spread)
        return self.at(x) - half, self.at(x) + half


@dataclass(frozen=True)
class SeedSlopes:
    """The slope of every training seed, tested against 0; `fit`: the line through the means over seeds."""

    slopes: tuple[float, ...]
    test: SignFlip
    interval: Limits
    fit: LinearFit


def linear_fit(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> LinearFit:
    """The line through points x, y, both of shape [n].

    Raises ConfigError for fewer than two points, unequal lengths, values that are not finite, or one x alone.
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape or xs.size < 2 or not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise ConfigError(f"a line needs at least two points and finite numbers: {xs.tolist()} and {ys.tolist()}")
    spread = float(((xs - xs.mean()) ** 2).sum())
    if spread == 0.0:
        raise ConfigError(f"a line needs two different x; all are {xs[0]:g}")
    slope = float((xs - xs.mean()) @ ys) / spread
    intercept = float(ys.mean()) - slope * float(xs.mean())
    left = float(((ys - intercept - slope * xs) ** 2).sum())
    around = float(((ys - ys.mean()) ** 2).sum())
    r_squared = 1.0 - left / around if around > 0 else math.nan
    checked_confidence(confidence)
    if xs.size == 2:
        return LinearFit(2, slope, intercept, r_squared, Limits(-math.inf, math.inf), 1.0, confidence, 0.0,
                         float(xs.mean()), spread)  # fmt: skip
    residual = math.sqrt(left / (xs.size - 2))
    error = residual / math.sqrt(spread)
    half = _quantile(confidence, xs.size) * error
    t = abs(slope) / error if error > 0 else math.inf
    p = float(2.0 * stats.t.sf(t, xs.size - 2)) if slope != 0 else 1.0
    interval = Limits(slope - half, slope + half)
    return LinearFit(xs.size, slope, intercept, r_squared, interval, p, confidence, residual, float(xs.mean()), spread)


def seed_slopes(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> SeedSlopes:
    """Slopes of y, shape [levels, seeds], on x, shape [levels]. Raises as `linear_fit` does."""
    ys = np.asarray(y, dtype=np.float64)
    if ys.ndim != 2 or ys.shape[1] == 0:
        raise ConfigError(f"slopes by seed need values [levels, seeds], not of shape {list(ys.shape)}")
    slopes = [linear_fit(x, column, confidence).slope for column in ys.T]
    interval = sign_flip_interval(slopes, confidence)
    return SeedSlopes(tuple(slopes), sign_flip(slopes), interval, linear_fit(x, ys.mean(axis=1), confidence))


def _quantile(confidence: float, n: int) -> float:
    return float(stats.t.ppf((1 + confidence) / 2, n - 2))
