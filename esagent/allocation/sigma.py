"""Equal shares of directions, perturbed the farther the more credit a module has.

    sigma_m^2 / sigma^2 = v_m / sum_j p_j v_j,   v_m = c_m / sum_j p_j c_j clipped to [1/4, 4]

so that sum_m p_m sigma_m^2 = sigma^2: the energy of a step is that of equal scales.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esagent.allocation.scheme import Floats, Shares, Signals, equal_shares

LEAST, MOST = 0.25, 4.0
"""Bounds of a variance before it is brought to mean 1."""


def variances(credit: Floats, p: Floats) -> Floats:
    """sigma_m^2 / sigma^2 for credit and shares p, all [..., M]; their mean under p is 1.

    Where nothing that has a share has credit, all are 1.
    """
    mean = (p * credit).sum(axis=-1, keepdims=True)
    relative = np.divide(credit, mean, out=np.ones_like(credit), where=mean > 0)
    clipped = np.clip(relative, LEAST, MOST)
    found: Floats = clipped / (p * clipped).sum(axis=-1, keepdims=True)
    return found


@dataclass(frozen=True)
class Sigma:
    """p_m = 1/M, sigma_m by credit."""

    def shares(self, signals: Signals) -> Shares:
        """Equal shares, scaled perturbations."""
        p = equal_shares(signals.credit)
        return Shares(p, variances(signals.credit, p))
