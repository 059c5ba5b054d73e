"""A control without information: shares drawn anew each step, uniformly from all that sum to 1 (Dirichlet(1, ..., 1)).

p_m = e_m / sum_j e_j with e_m = -log(1 - u_m), u keyed by run seed, step and module.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esagent.allocation.scheme import Shares, Signals, of_one_sigma


@dataclass(frozen=True)
class Random:
    """Looks at the draws alone."""

    def shares(self, signals: Signals) -> Shares:
        """Exponentials over their sum."""
        drawn = -np.log1p(-signals.draws) + np.finfo(np.float64).tiny  # all draws 0: equal shares, not 0 / 0
        return of_one_sigma(drawn / drawn.sum(axis=-1, keepdims=True))
