"""Does credit point at what really holds the agent back?

The bottleneck is found by intervention: the module whose gold behaviour in place of its own gains the most reward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.stats import kendalltau


@dataclass(frozen=True)
class Agreement:
    """blamed: the module with the most credit. bottleneck: that of the largest gain, None when no gain is above 0.

    rank_correlation: Kendall's tau-b of credit and gains over modules; None where either is the same for all.
    """

    blamed: str
    bottleneck: str | None
    rank_correlation: float | None

    @property
    def same(self) -> bool:
        """Whether credit points at the bottleneck."""
        return self.blamed == self.bottleneck


def bottleneck(gains: Mapping[str, float]) -> str | None:
    """The module of the largest gain, of equal ones the first; None when no gain is above 0."""
    best = max(gains, key=lambda name: gains[name])
    return best if gains[best] > 0 else None


def agreement(credit: Mapping[str, float], gains: Mapping[str, float]) -> Agreement:
    """Compare credit with the gains of interventions, both by module."""
    names = list(gains)
    tau = float(kendalltau([credit[name] for name in names], [gains[name] for name in names]).statistic)
    blamed = max(names, key=lambda name: credit[name])
    return Agreement(blamed, bottleneck(gains), None if math.isnan(tau) else tau)
