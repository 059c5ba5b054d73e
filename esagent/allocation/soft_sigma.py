"""Directions and scales by credit at once: the shares of `soft` under the sigma rule of `sigma`."""

from __future__ import annotations

from dataclasses import dataclass

from esagent.allocation.scheme import Shares, Signals
from esagent.allocation.sigma import variances
from esagent.allocation.soft import softened


@dataclass(frozen=True)
class SoftSigma:
    """tau: temperature of the shares, above 0."""

    tau: float = 1.0

    def shares(self, signals: Signals) -> Shares:
        """p = softmax(log c / tau), sigma_m^2 = sigma^2 c_m / sum_j p_j c_j, clipped and renormalised."""
        p = softened(signals.credit, self.tau)
        return Shares(p, variances(signals.credit, p))
