"""Directions by softened credit: p_m = softmax(log c_m / tau), which is c_m^(1/tau) over its sum.

tau = 1 spends in proportion to credit, a large tau nearly equally, a small one nearly all on the most blamed module.
"""

from __future__ import annotations

from dataclasses import dataclass

from esagent.allocation.scheme import Floats, Shares, Signals, of_one_sigma


def softened(credit: Floats, tau: float) -> Floats:
    """softmax(log credit / tau) over the last axis of credit [..., M] >= 0, each row with a number above 0."""
    top = credit.max(axis=-1, keepdims=True)
    raised = (credit / top) ** (1.0 / tau)  # at most 1, and exactly 1 somewhere: no overflow, no sum of 0
    shares: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return shares


@dataclass(frozen=True)
class Soft:
    """tau: temperature, above 0."""

    tau: float = 1.0

    def shares(self, signals: Signals) -> Shares:
        """softmax(log c / tau)."""
        return of_one_sigma(softened(signals.credit, self.tau))
