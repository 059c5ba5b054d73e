"""Fixed starvation: equal shares, but for a share of the steps, in which the bottleneck gets no direction at all.

With the starvation rate r, step t is starved iff floor((t + 1) r) > floor(t r): exactly floor(T r) of the first T
steps, evenly spread. Then p_m = 1/(M - 1) for the others. Sigma and step size are as the schedules say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from esagent.allocation.scheme import Shares, Signals, equal_shares, of_one_sigma


@dataclass(frozen=True)
class Starve:
    """rate: starvation rate, 0 to 1."""

    rate: float = 0.0

    def starved(self, step: int) -> bool:
        """Whether the bottleneck gets nothing in `step`. Exact: 0.3 means three tenths."""
        rate = Fraction(str(self.rate))
        return math.floor((step + 1) * rate) > math.floor(step * rate)

    def shares(self, signals: Signals) -> Shares:
        """Equal over all, or over all but the bottleneck."""
        equal = equal_shares(signals.credit)
        if not self.starved(signals.step):
            return of_one_sigma(equal)
        rest = np.where(signals.bottleneck, 0.0, equal)
        return of_one_sigma(rest / rest.sum(axis=-1, keepdims=True))
