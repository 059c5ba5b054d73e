"""A control that is wrong on purpose: `soft` on credit in reversed rank.

The module with the most credit is treated as the one with the least, the second as the last but one, and so on; modules
with equal credit share what their places would get.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from esagent.allocation.scheme import Floats, Shares, Signals, of_one_sigma
from esagent.allocation.soft import softened


def reversed_ranks(credit: Floats) -> Floats:
    """The values of credit [..., M], handed out in reversed order of rank."""
    below = (credit[..., None, :] < credit[..., :, None]).sum(axis=-1)
    equal = (credit[..., None, :] == credit[..., :, None]).sum(axis=-1)
    place = np.arange(credit.shape[-1])
    mine = (place >= below[..., None]) & (place < (below + equal)[..., None])  # [..., M, places]
    falling = -np.sort(-credit, axis=-1)
    given: Floats = (mine * falling[..., None, :]).sum(axis=-1) / equal
    return given


@dataclass(frozen=True)
class Misroute:
    """tau: temperature, above 0."""

    tau: float = 1.0

    def shares(self, signals: Signals) -> Shares:
        """softmax(log c' / tau) with c' the credit of the opposite rank."""
        return of_one_sigma(softened(reversed_ranks(signals.credit), self.tau))
