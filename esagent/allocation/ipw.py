"""`soft` on credit that is debiased by inverse propensity weights.

Blame goes to the earliest failure, so a late module is blamed only in episodes that reached it: c_m estimates
P(reached m) P(m fails | reached m). Dividing by P(reached m) leaves the rate at which m fails when it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from esagent.allocation.scheme import Shares, Signals, of_one_sigma
from esagent.allocation.soft import softened
from esagent.credit.reach import debiased


@dataclass(frozen=True)
class Ipw:
    """tau: temperature, above 0. clip: propensities below it count as this; weights are at most 1 / clip."""

    tau: float = 1.0
    clip: float = 0.1

    def shares(self, signals: Signals) -> Shares:
        """softmax(log c' / tau) with c' = c / max(P(reached), clip), normalised."""
        return of_one_sigma(softened(debiased(signals.credit, signals.reached, self.clip), self.tau))
