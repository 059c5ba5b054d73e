"""Student's t-test and interval for a mean paired difference: the usual companion of the exact sign-flip test.

    T = (mean(d) - shift) / (s / sqrt(n)),    s^2 = sum_i (d_i - mean(d))^2 / (n - 1),

compared with Student's t of n - 1 degrees of freedom ("Student", 1908). It assumes normal differences, and in return
can give small p-values at few pairs, where the exact test cannot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy import stats

from esagent.stats.inversion import Limits, checked_confidence
from esagent.stats.signflip import checked


@dataclass(frozen=True)
class Student:
    """The three p-values for n pairs. One pair alone shows no spread: sd is nan, and every p is 1."""

    n: int
    mean: float
    sd: float
    p_two_sided: float
    p_greater: float
    p_less: float


def t_test(differences: ArrayLike, shift: float = 0.0) -> Student:
    """Test paired differences, shape [n], for a mean of `shift`.

    Differences that are all alike decide for certain: p is 0 or 1. Raises ConfigError unless n >= 1 and all are finite.
    """
    d = checked(differences)
    mean = float(d.mean())
    if d.size == 1:
        return Student(1, mean, math.nan, 1.0, 1.0, 1.0)
    sd = float(d.std(ddof=1))
    off = mean - shift
    if sd == 0.0:
        greater, less = float(off <= 0), float(off >= 0)
    else:
        t = off / (sd / math.sqrt(d.size))
        greater, less = (float(tail(t, d.size - 1)) for tail in (stats.t.sf, stats.t.cdf))
    return Student(d.size, mean, sd, min(1.0, 2.0 * min(greater, less)), greater, less)


def t_interval(differences: ArrayLike, confidence: float = 0.95) -> Limits:
    """Interval for the mean of paired differences, shape [n]; (-inf, inf) for one pair. Raises as `t_test` does."""
    test = t_test(differences)
    if test.n == 1:
        return Limits(-math.inf, math.inf)
    half = float(stats.t.ppf((1 + checked_confidence(confidence)) / 2, test.n - 1)) * test.sd / math.sqrt(test.n)
    return Limits(test.mean - half, test.mean + half)
