"""Before a run: the smallest p that n seeds can give, and the chance of showing an effect with them.

A family of m tests is corrected by Holm, whose strictest step asks for p <= alpha / m: that is the level here. Paired
differences are taken as normal with mean `effect` and standard deviation `sd` (over seeds, of the difference). With
Z = mean(d) sqrt(n) / sd and V^2 ~ chi^2_{n-1} / (n - 1), independent of each other, Student's t shows

    better      Z > t V                                             t: quantile of Student's t, n - 1 degrees of freedom
    different   |Z| > t V                                            (at level / 2)
    no_better   (margin - mean(d)) sqrt(n) / sd > t V
    equivalent  both (margin - mean(d)) and (margin + mean(d)), times sqrt(n) / sd, > t V

and the power is the mean over V of the normal probability. The exact test's power is found by drawing differences and
testing them, up to `SIMULATED` pairs; beyond, it differs little from that of Student's t (Lehmann and Romano, 2005,
section 15.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.signflip import p_greater

CLAIMS = ("different", "better", "no_better", "equivalent")
SIMULATED = 20
"""Most pairs for which the exact test's power is simulated."""
DRAWS = 2000

_GRID = 2000  # quantiles of V
_SEED = 20_350_422


@dataclass(frozen=True)
class Attainable:
    """The smallest p-values that n pairs can give, and what the strictest step of Holm asks for."""

    n: int
    two_sided: float
    one_sided: float
    level: float

    @property
    def can_show_difference(self) -> bool:
        """Whether a two-sided test can be rejected at all."""
        return self.two_sided <= self.level

    @property
    def can_show_direction(self) -> bool:
        """Whether a one-sided test can."""
        return self.one_sided <= self.level


@dataclass(frozen=True)
class Power:
    """The chance that a claim is shown; `exact` is None where it was not simulated."""

    claim: str
    n: int
    exact: float | None
    t: float


def attainable(n: int, alpha: float = 0.05, family: int = 1) -> Attainable:
    """What n pairs can show in a family of so many tests. Raises ConfigError for a bad n, alpha or family."""
    _check(n, alpha, family)
    return Attainable(n, min(1.0, 2.0 * 2.0**-n), 2.0**-n, alpha / family)


def pairs_needed(alpha: float = 0.05, family: int = 1, *, two_sided: bool = True) -> int:
    """The fewest pairs of which the exact test can reject in a family of so many tests."""
    _check(1, alpha, family)
    return max(1, math.ceil(math.log2((2.0 if two_sided else 1.0) * family / alpha) - 1e-12))


def power(
    claim: str, n: int, effect: float, sd: float, *, alpha: float = 0.05, family: int = 1, margin: float = 0.0
) -> Power:
    """The chance that n pairs show `claim` when the mean difference is `effect` and their spread is `sd`.

    claim: one of CLAIMS; margin: of no_better and equivalent, in the unit of effect. Raises ConfigError for n < 2,
    sd <= 0, a margin <= 0 where one is needed, a bad alpha or family, or an unknown claim.
    """
    _check(n, alpha, family)
    if n < 2:
        raise ConfigError(f"n={n}: the power of one pair is 0; give at least 2")
    if not (sd > 0 and math.isfinite(sd) and math.isfinite(effect)):
        raise ConfigError(f"sd={sd}, effect={effect}: the effect must be finite and its spread over seeds above 0")
    if claim not in CLAIMS:
        raise ConfigError(f"claim={claim}: choose from {', '.join(CLAIMS)}")
    if claim in ("no_better", "equivalent") and not margin > 0:
        raise ConfigError(f"margin={margin}: the claim {claim} needs one above 0, as in 0.02")
    level = alpha / family
    exact = _simulated(claim, n, effect, sd, level, margin) if n <= SIMULATED else None
    return Power(claim, n, exact, _student(claim, n, effect, sd, level, margin))


def _student(claim: str, n: int, effect: float, sd: float, level: float, margin: float) -> float:
    v = np.sqrt(stats.chi2.ppf((np.arange(_GRID) + 0.5) / _GRID, n - 1) / (n - 1))
    root = math.sqrt(n) / sd
    t = stats.t.isf(level / 2 if claim == "different" else level, n - 1) * v
    below, above = stats.norm.cdf, stats.norm.sf
    if claim == "different":
        found = above(t - effect * root) + below(-t - effect * root)
    elif claim == "equivalent":
        found = np.clip(below((margin - effect) * root - t) - below(t - (margin + effect) * root), 0, None)
    else:
        found = above(t - (margin - effect if claim == "no_better" else effect) * root)
    return float(found.mean())


def _simulated(claim: str, n: int, effect: float, sd: float, level: float, margin: float) -> float:
    samples = effect + sd * np.random.default_rng(_SEED).standard_normal((DRAWS, n))
    return sum(_shown(claim, d, level, margin) for d in samples) / DRAWS


def _shown(claim: str, d: NDArray[np.float64], level: float, margin: float) -> bool:
    if claim == "different":
        return 2.0 * min(p_greater(d), p_greater(-d)) <= level
    if claim == "better":
        return p_greater(d) <= level
    no_better = p_greater(margin - d) <= level
    return no_better and (claim == "no_better" or p_greater(d + margin) <= level)


def _check(n: int, alpha: float, family: int) -> None:
    if n < 1 or family < 1:
        raise ConfigError(f"n={n}, family={family}: both count something; at least 1")
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha={alpha}: must lie between 0 and 1, as in 0.05")
