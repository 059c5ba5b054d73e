"""All directions to the module with the most credit; modules that share the first place share the directions.

So the first step, before anything was blamed, is one of equal shares.
"""

from __future__ import annotations

from dataclasses import dataclass

from esagent.allocation.scheme import Shares, Signals, of_one_sigma

_TIE = 1e-9  # relative: rounding of an average does not decide where the whole budget goes


@dataclass(frozen=True)
class Argmax:
    """p_m = 1 for m = argmax c."""

    def shares(self, signals: Signals) -> Shares:
        """All to the first place."""
        credit = signals.credit
        first = credit >= credit.max(axis=-1, keepdims=True) * (1.0 - _TIE)
        return of_one_sigma(first / first.sum(axis=-1, keepdims=True))
