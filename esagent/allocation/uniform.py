"""Equal shares: p_m = 1/M, the reference that credit routing has to beat ("Coverage, Not Credit", arXiv 2608.28011)."""

from __future__ import annotations

from dataclasses import dataclass

from esagent.allocation.scheme import Shares, Signals, equal_shares, of_one_sigma


@dataclass(frozen=True)
class Uniform:
    """Looks at nothing."""

    def shares(self, signals: Signals) -> Shares:
        """1/M each."""
        return of_one_sigma(equal_shares(signals.credit))
