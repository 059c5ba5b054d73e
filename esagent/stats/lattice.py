"""Exact sign-flip counts for any number of pairs that are multiples of one unit, as mean rewards of a pool are.

With d_i = k_i u, k_i whole, sum_i s_i d_i = u (2 X - K) for K = sum_i |k_i| and X the sum of those |k_i| whose sign is
+1. Under fair signs the distribution of X follows by dynamic programming over the pairs,

    P_i(X = x) = (P_{i-1}(X = x) + P_{i-1}(X = x - |k_i|)) / 2,

in n K steps and without subtraction, so that every probability keeps its relative precision (Pagano and Tritchler,
1983, "On obtaining permutation distributions in polynomial time").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPAN = 2**18
"""Largest sum of |k_i| that is counted."""
_NEAR = 1e-11  # of sum |d_i|: how far differences may lie from multiples of the unit in all


def whole_multiples(d: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The k of d = k u, shape [n], for the largest u that serves; None when there is none with sum |k| <= SPAN."""
    total = float(np.abs(d).sum())
    if total == 0.0:
        return np.zeros(d.size, dtype=np.int64)
    unit = 0.0
    for value in np.unique(np.abs(d)):
        unit = _common(float(value), unit, total / SPAN / 2)
        if unit == 0.0 and value > 0.0:
            return None
    k = np.round(d / unit)
    unit = float(d @ k / (k @ k))
    close = np.abs(d - unit * k).sum() <= _NEAR * total
    return k.astype(np.int64) if close and np.abs(k).sum() <= SPAN else None


def upper_tail(k: NDArray[np.int64]) -> float:
    """P(sum_i s_i k_i >= sum_i k_i) over fair signs s; k: shape [n]."""
    sizes = np.sort(np.abs(k))
    sums = np.zeros(int(sizes.sum()) + 1)
    sums[0] = 1.0
    reach = 0
    for size in map(int, sizes):
        before = sums[: reach + 1] / 2.0
        sums[: reach + 1] = before
        sums[size : size + reach + 1] += before
        reach += size
    # Beyond a thousand pairs the smallest p is below what a float can hold; no p is 0.
    return max(float(sums[int(k[k > 0].sum()) :].sum()), float(np.finfo(np.float64).tiny))


def _common(a: float, b: float, least: float) -> float:
    """The largest u of which a and b are multiples, by Euclid's algorithm; 0 when it is below `least`."""
    while b > least / 2:
        a, b = b, abs(a - b * round(a / b))
    return a if a > least else 0.0
