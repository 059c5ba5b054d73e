"""Which of the calls that an agent made answers which of the right ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from esagent.tasks.grading import Hop

Share = Callable[[int, Hop], float]
"""Share of right arguments of a call, as an answer to right call number i of the same name."""


@dataclass(frozen=True)
class Matched:
    """wanted, made: how many calls were to be made, and were. shares: of right arguments, a number per right function
    chosen, in the order of the right calls."""

    wanted: int
    made: int
    shares: tuple[float, ...]

    @property
    def right(self) -> bool:
        """Whether every call that was to be made was, and no other."""
        return self.wanted == self.made == len(self.shares) == sum(self.shares)

    @property
    def count(self) -> float:
        """How near the number of calls is to the right one, in [0, 1]."""
        return min(self.wanted, self.made) / max(self.wanted, self.made, 1)

    @property
    def chosen(self) -> float:
        """Share of right functions, over the calls made or wanted, whichever are more."""
        return len(self.shares) / max(self.wanted, self.made, 1)

    @property
    def arguments(self) -> float:
        """Mean share of right arguments, over the calls made or wanted, whichever are more."""
        return sum(self.shares) / max(self.wanted, self.made, 1)


def match(names: Sequence[str], hops: Sequence[Hop], share: Share) -> Matched:
    """The best way to see the calls of `hops` as answers to the right calls, in any order, each to one.

    names: functions of the right calls. A call answers only a right one of the function that was chosen; a right
    function counts for more than any arguments.
    """
    if not names or not hops:
        return Matched(len(names), len(hops), ())
    shares = np.zeros((len(names), len(hops)))
    same = np.array([[name == hop.chosen for hop in hops] for name in names])
    for i, j in zip(*np.nonzero(same), strict=True):
        shares[i, j] = share(int(i), hops[j])
    rows, columns = linear_sum_assignment(same * (len(names) + shares), maximize=True)
    pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if same[i, j]]
    return Matched(len(names), len(hops), tuple(float(shares[i, j]) for i, j in pairs))
