"""Exact sign-flip test: the paired randomisation test of Fisher (1935, section 21), for a mean paired difference.

Under the null hypothesis each difference d_i is as likely to be -d_i. With S = sum_i s_i d_i over all s in {-1, +1}^n
and T = sum_i d_i the observed sum,

    p_greater   = 2^-n #{s : S >= T}
    p_less      = 2^-n #{s : S <= T}
    p_two_sided = 2^-n #{s : |S| >= |T|} = min(1, 2 min(p_greater, p_less))

The smallest p that n pairs can give is 2^-n one-sided and 2 / 2^n two-sided: five pairs can never reach 0.05.

All 2^n sums are counted without listing them: of the sums of one half of the pairs, sorted, those that complete each
sum of the other half are found by bisection, so 40 pairs take a million sums (Horowitz and Sahni, 1974). Beyond that
differences that are multiples of one unit are counted by dynamic programming (`lattice`); for others signs are drawn,
and p = (b + 1) / (B + 1) with b of B draws at least as extreme, which is valid for any B (Phipson and Smyth, 2010).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from esagent.errors import ConfigError
from esagent.stats.lattice import upper_tail, whole_multiples

EXACT = 40
"""Most pairs for which every assignment of signs is counted whatever the differences are."""
DRAWS = 99_999
TOLERANCE = 1e-10
"""Sums count as equal when they differ by less than this share of sum |d_i|: ties must not hang on the last bit."""

_SEED = 20_350_421  # of the drawn signs: equal data give equal p


@dataclass(frozen=True)
class SignFlip:
    """The three p-values for n pairs, and the smallest that so many pairs could have given. `draws` is 0 when exact."""

    n: int
    mean: float
    p_two_sided: float
    p_greater: float
    p_less: float
    smallest_two_sided: float
    smallest_one_sided: float
    draws: int


def sign_flip(differences: ArrayLike, *, exact_up_to: int = EXACT, draws: int = DRAWS) -> SignFlip:
    """Test that paired differences, shape [n], are symmetric about 0.

    exact_up_to: the most pairs that are counted exactly whatever they are. Raises ConfigError unless n >= 1 and all
    are finite.
    """
    d = checked(differences)
    exact = d.size <= exact_up_to or whole_multiples(d) is not None
    greater, less = (p_greater(x, exact_up_to=exact_up_to, draws=draws) for x in (d, -d))
    smallest = smallest_p(d.size, exact_up_to=d.size if exact else exact_up_to, draws=draws)
    return SignFlip(
        n=d.size,
        mean=float(d.mean()),
        p_two_sided=min(1.0, 2.0 * min(greater, less)),
        p_greater=greater,
        p_less=less,
        smallest_two_sided=min(1.0, 2.0 * smallest),
        smallest_one_sided=smallest,
        draws=0 if exact else draws,
    )


def p_greater(d: NDArray[np.float64], *, exact_up_to: int = EXACT, draws: int = DRAWS) -> float:
    """One-sided p against a mean above 0; that against one below 0 is `p_greater(-d)`. d: shape [n]."""
    least = float(d.sum()) - TOLERANCE * float(np.abs(d).sum())
    if d.size <= exact_up_to:
        return _count(d, least) / 2.0**d.size
    k = whole_multiples(d)
    if k is not None:
        return upper_tail(k)
    return (int((_signs(d.size, draws) @ d >= least).sum()) + 1) / (draws + 1)


def smallest_p(n: int, *, exact_up_to: int = EXACT, draws: int = DRAWS) -> float:
    """The smallest one-sided p that n pairs can give; where signs would be drawn, the smallest that draws can."""
    return max(2.0**-n, float(np.finfo(np.float64).tiny)) if n <= exact_up_to else 1.0 / (draws + 1)


def checked(differences: ArrayLike) -> NDArray[np.float64]:
    """Differences as an array [n]. Raises ConfigError unless n >= 1 and all are finite."""
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or d.size == 0 or not np.isfinite(d).all():
        raise ConfigError(f"a sign-flip test needs at least one pair and finite differences, not {d.tolist()}")
    return d


def _count(d: NDArray[np.float64], least: float) -> int:
    """#{s : sum_i s_i d_i >= least}."""
    half = d.size // 2
    one, other = _sums(d[:half]), np.sort(_sums(d[half:]))
    return int((other.size - np.searchsorted(other, least - one)).sum())


def _sums(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum_i s_i d_i for all 2^n assignments of signs, shape [2^n]."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums - value, sums + value])
    return sums


@functools.lru_cache(maxsize=1)
def _signs(n: int, draws: int) -> NDArray[np.float64]:
    """Fair signs, shape [draws, n], the same at every call."""
    return np.random.default_rng(_SEED).choice(np.array([-1.0, 1.0]), size=(draws, n))
