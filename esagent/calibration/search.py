"""Where a share that grows with sigma reaches a target: bracketed by factors, then bisected.

    sigma <- FACTOR sigma or sigma / FACTOR    until the target lies between two tries
    sigma <- sqrt(low high)                    until a try is within TOLERANCE, or high / low is below FINE

Tries depend on what was told alone, so the same answers give the same sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

START = 0.0625
SMALLEST, LARGEST = 2.0**-20, 2.0**10
FACTOR = 4.0
FINE = 1.1
TOLERANCE = 0.02


@dataclass
class Search:
    """`next` is the sigma to try, None when there is nothing more to learn; `tried` holds the share of each."""

    target: float
    next: float | None = START
    tried: dict[float, float] = field(default_factory=dict)

    def tell(self, share: float) -> None:
        """What `next` gave, a share in [0, 1]."""
        if self.next is None:
            raise ValueError("the search is over")
        self.tried[self.next] = share
        self.next = None if self.reached else self._following()

    @property
    def best(self) -> float:
        """The sigma tried whose share came nearest to the target, of equal ones that next to the crossing.

        Where no share comes up to the target, the smallest sigma of those that change as much as any, to TOLERANCE.
        """
        most = max(self.tried.values())
        if most < self.target:
            return min(sigma for sigma, share in self.tried.items() if share >= most - TOLERANCE)

        def rank(sigma: float) -> tuple[float, bool, float]:
            above = self.tried[sigma] >= self.target
            return abs(self.tried[sigma] - self.target), above, sigma if above else -sigma

        return min(self.tried, key=rank)

    @property
    def reached(self) -> bool:
        """Whether some try was within TOLERANCE of the target."""
        return any(abs(share - self.target) <= TOLERANCE + 1e-12 for share in self.tried.values())

    def _following(self) -> float | None:
        below = [sigma for sigma, share in self.tried.items() if share < self.target]
        above = [sigma for sigma, share in self.tried.items() if share >= self.target]
        if not above:
            following = FACTOR * max(below)
        elif not below:
            following = min(above) / FACTOR
        else:
            # Shares of few completions need not grow everywhere: the bracket is the lowest crossing.
            high = min(above)
            low = max((sigma for sigma in below if sigma < high), default=high / FACTOR)
            following = low if low not in self.tried else math.sqrt(low * high)
            if high / low < FINE:
                return None
        return following if SMALLEST <= following <= LARGEST else None
