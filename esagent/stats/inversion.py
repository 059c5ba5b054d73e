"""Confidence interval and one-sided bounds for a mean paired difference by inverting the sign-flip test.

The interval of confidence 1 - a holds exactly those shifts delta for which the two-sided test of d - delta gives p > a.
With one-sided tests that is p_greater(d - delta) > a/2 and p_less(d - delta) > a/2, and both change monotonically with
delta, so each limit is found by bisection. The limits are means of subsets of the differences (Hartigan, 1969).

A one-sided bound of confidence 1 - a inverts one one-sided test at a: the mean lies below `upper_bound` or the test of
d - upper_bound against "less" has p > a. So "no better by m" is shown exactly when the upper bound is below m.

Where so few pairs cannot give p <= a (two-sided below six pairs for 95%, one-sided below five), no shift can be ruled
out: the limits are infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from esagent.errors import ConfigError
from esagent.stats.signflip import checked, p_greater, smallest_p

_HALVINGS = 50  # of the range of the differences: all bits of a float


class Limits(NamedTuple):
    """Both limits belong to the interval."""

    low: float
    high: float


def sign_flip_interval(differences: ArrayLike, confidence: float = 0.95) -> Limits:
    """Interval for the mean of paired differences, shape [n].

    Raises ConfigError for no pair, values that are not finite, or a confidence outside (0, 1).
    """
    d = checked(differences)
    alpha = (1.0 - checked_confidence(confidence)) / 2.0
    return Limits(_lower(d, alpha), -_lower(-d, alpha))


def lower_bound(differences: ArrayLike, confidence: float = 0.95) -> float:
    """The least mean that the one-sided test against "greater" does not rule out. Raises as `sign_flip_interval`."""
    return _lower(checked(differences), 1.0 - checked_confidence(confidence))


def upper_bound(differences: ArrayLike, confidence: float = 0.95) -> float:
    """The greatest mean that the one-sided test against "less" does not rule out. Raises as `sign_flip_interval`."""
    return -_lower(-checked(differences), 1.0 - checked_confidence(confidence))


def checked_confidence(confidence: float) -> float:
    """`confidence` itself. Raises ConfigError unless it lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence={confidence}: must lie between 0 and 1, as in 0.95")
    return confidence


def _lower(d: NDArray[np.float64], alpha: float) -> float:
    """The smallest delta with p_greater(d - delta) > alpha; -inf where no p can be as small as alpha."""
    if smallest_p(d.size) > alpha:
        return -np.inf
    # Below every difference p is the smallest there is; at the largest difference it is 1.
    out, inside = float(d.min()) - 1e-9 * float(np.abs(d).max()), float(d.max())
    for _ in range(_HALVINGS):
        middle = (out + inside) / 2.0
        if p_greater(d - middle) > alpha:
            inside = middle
        else:
            out = middle
    return inside
