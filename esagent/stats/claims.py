"""What paired differences say about one claim: a p-value for the claim, and one for its opposite.

With m the claim's margin and d the differences arm - against, one per training seed:

    claim        says                     shown by rejecting                     opposite
    better       mean(d) >  m             mean <= m                              mean < m
    worse        mean(d) < -m             mean >= -m                             mean > -m
    no_better    mean(d) <  m             mean >= m                              mean > m
    no_worse     mean(d) > -m             mean <= -m                             mean < -m
    equivalent   -m < mean(d) < m         mean <= -m and mean >= m, both         different, two-sided
    different    |mean(d)| > m            |mean| <= m, two-sided                 equivalent

A large p shows nothing: only its opposite, shown in the same way, makes a claim fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from esagent.stats.signflip import checked, sign_flip
from esagent.stats.student import t_test


class Evidence(NamedTuple):
    """p: of the claim; opposite: of its opposite."""

    p: float
    opposite: float


def weigh(claim: str, differences: ArrayLike, margin: float = 0.0, test: str = "sign_flip") -> Evidence:
    """Evidence of paired differences, shape [n]. claim: any of the table; test: sign_flip (exact) or t.

    Raises ConfigError for no pair or values that are not finite.
    """
    d = checked(differences)

    def above(threshold: float) -> float:  # p against mean <= threshold
        return _p_greater(d - threshold, test)

    def below(threshold: float) -> float:  # p against mean >= threshold
        return _p_greater(threshold - d, test)

    if claim == "better":
        return Evidence(above(margin), below(margin))
    if claim == "worse":
        return Evidence(below(-margin), above(-margin))
    if claim == "no_better":
        return Evidence(below(margin), above(margin))
    if claim == "no_worse":
        return Evidence(above(-margin), below(-margin))
    inside = max(above(-margin), below(margin))
    outside = min(1.0, 2.0 * min(below(-margin), above(margin)))
    return Evidence(inside, outside) if claim == "equivalent" else Evidence(outside, inside)


def every(found: Sequence[Evidence]) -> Evidence:
    """Evidence that a claim is true of each of several arms: the largest p, as all must be shown.

    That it fails needs its opposite for one of them, which being any of k is paid for by a factor of k (Bonferroni).
    """
    return Evidence(
        max(evidence.p for evidence in found),
        min(1.0, len(found) * min(evidence.opposite for evidence in found)),
    )


def smallest_claim_p(claim: str, n: int) -> float:
    """The smallest p that the exact test can give for the claim with n pairs."""
    return min(1.0, (2.0 if claim == "different" else 1.0) * 2.0**-n)


def _p_greater(d: NDArray[np.float64], test: str) -> float:
    return t_test(d).p_greater if test == "t" else sign_flip(d).p_greater
