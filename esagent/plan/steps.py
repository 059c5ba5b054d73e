"""How many steps fit into a budget, as far as their cost is known before they are run."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass

from esagent.core.ledger import Limit

MOST = 1_000_000


@dataclass(frozen=True)
class Steps:
    """whole: steps with all directions. part: directions of a last, smaller one; 0 without it."""

    whole: int
    part: int = 0

    @property
    def count(self) -> int:
        """Steps in all."""
        return self.whole + (self.part > 0)


def steps_within(limit: Limit, cost: Callable[[int], float] | None) -> Steps | None:
    """Steps that fit into `limit`.

    cost: what so many steps cost in its unit, rising; None where that is not known, and so nothing can be said of a
    budget that only the finished steps can tell.
    """
    if limit.kind == "steps":
        return Steps(int(limit.amount))
    if limit.kind == "episodes":
        whole, part = divmod(int(limit.amount // limit.episodes), limit.directions)
        return Steps(whole, part if part >= limit.least else 0)
    if cost is None:
        return None
    return Steps(bisect.bisect_right(range(1, MOST + 1), limit.amount, key=cost))
