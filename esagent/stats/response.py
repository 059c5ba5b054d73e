"""How a scheme's paired difference to the baseline changes with a setting: the response to credit noise, for one.

At each value of the setting the difference has its mean over training seeds, its sign-flip interval and p; over all
values every seed has a slope, whose interval says whether the scheme responds at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from esagent.errors import ConfigError
from esagent.stats.inversion import Limits, sign_flip_interval
from esagent.stats.regression import SeedSlopes, seed_slopes
from esagent.stats.signflip import SignFlip, sign_flip


@dataclass(frozen=True)
class Point:
    """The paired difference at one value of the setting, over n seeds."""

    x: float
    test: SignFlip
    interval: Limits

    @property
    def n(self) -> int:
        """Number of training seeds."""
        return self.test.n

    @property
    def mean(self) -> float:
        """Mean paired difference."""
        return self.test.mean


@dataclass(frozen=True)
class ResponseCurve:
    """One scheme over all values, in rising order. slopes: None with one value alone."""

    points: tuple[Point, ...]
    slopes: SeedSlopes | None


def response_curve(x: ArrayLike, differences: ArrayLike, confidence: float = 0.95) -> ResponseCurve:
    """The curve of one scheme. x: shape [levels]; differences to the baseline: shape [levels, seeds].

    Raises ConfigError for shapes that do not fit, a value of x that comes twice, or numbers that are not finite.
    """
    xs, d = np.asarray(x, dtype=np.float64), np.asarray(differences, dtype=np.float64)
    if xs.ndim != 1 or d.ndim != 2 or d.shape[0] != xs.size or xs.size == 0:
        raise ConfigError(
            f"a response needs differences [levels, seeds] at x [levels]: {list(d.shape)}, {list(xs.shape)}"
        )
    if np.unique(xs).size < xs.size:
        raise ConfigError(f"a response needs each x once: {xs.tolist()}")
    order = np.argsort(xs)
    xs, d = xs[order], d[order]
    points = tuple(
        Point(float(at), sign_flip(row), sign_flip_interval(row, confidence)) for at, row in zip(xs, d, strict=True)
    )
    return ResponseCurve(points, seed_slopes(xs, d, confidence) if xs.size > 1 else None)


def response_curves(
    x: ArrayLike, differences: Mapping[str, ArrayLike], confidence: float = 0.95
) -> dict[str, ResponseCurve]:
    """The curve of every scheme over the same x. Arguments and errors as in `response_curve`."""
    return {scheme: response_curve(x, d, confidence) for scheme, d in differences.items()}
