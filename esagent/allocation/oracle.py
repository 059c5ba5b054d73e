"""A control that knows: all directions to the true bottleneck, found by intervention and named in the settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esagent.allocation.scheme import Shares, Signals, equal_shares, of_one_sigma


@dataclass(frozen=True)
class Oracle:
    """p_m = 1 for the bottleneck; equal shares where none is known."""

    def shares(self, signals: Signals) -> Shares:
        """All to the bottleneck."""
        known = signals.bottleneck.any(axis=-1, keepdims=True)
        return of_one_sigma(np.where(known, signals.bottleneck.astype(np.float64), equal_shares(signals.credit)))
