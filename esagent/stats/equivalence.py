"""Is a mean difference within +/- a margin? Two one-sided tests, exact and by Student's t.

    p_below: against mean <= -margin, the one-sided test of d + margin for a mean above 0
    p_above: against mean >= +margin, the one-sided test of d - margin for a mean below 0
    p      = max(p_below, p_above)

Both must be rejected, so neither needs a correction (Schuirmann, 1987). Equivalence at alpha is the same as an interval
of confidence 1 - 2 alpha that lies inside (-margin, margin). The exact version flips the signs of d +/- margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from esagent.errors import ConfigError
from esagent.stats.inversion import Limits, checked_confidence, sign_flip_interval
from esagent.stats.signflip import checked, sign_flip
from esagent.stats.student import t_interval, t_test


@dataclass(frozen=True)
class Tost:
    """Two one-sided tests; interval: of confidence 1 - 2 alpha."""

    p_below: float
    p_above: float
    interval: Limits
    equivalent: bool

    @property
    def p(self) -> float:
        """The larger of the two p-values."""
        return max(self.p_below, self.p_above)


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests of n pairs at a margin, by sign flips (exact) and by Student's t."""

    n: int
    mean: float
    margin: float
    alpha: float
    exact: Tost
    t: Tost


def equivalence(differences: ArrayLike, margin: float, alpha: float = 0.05) -> Equivalence:
    """Test paired differences, shape [n], for a mean within +/- margin (in their unit).

    Raises ConfigError for no pair, values that are not finite, a margin that is not above 0, or an alpha outside
    (0, 0.5).
    """
    d = checked(differences)
    if not margin > 0:
        raise ConfigError(f"margin={margin}: must be above 0, as in 0.02")
    if not 0 < alpha < 0.5:
        raise ConfigError(f"alpha={alpha}: must lie between 0 and 0.5, as in 0.05")
    confidence = checked_confidence(1.0 - 2.0 * alpha)

    def tost(p_above_0: Callable[[ArrayLike], float], interval: Limits) -> Tost:
        p_below, p_above = p_above_0(d + margin), p_above_0(margin - d)
        return Tost(p_below, p_above, interval, max(p_below, p_above) <= alpha)

    exact = tost(lambda x: sign_flip(x).p_greater, sign_flip_interval(d, confidence))
    student = tost(lambda x: t_test(x).p_greater, t_interval(d, confidence))
    return Equivalence(d.size, float(d.mean()), margin, alpha, exact, student)
