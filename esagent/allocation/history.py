"""What earlier steps spent on each block, as it follows from the records of the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from esagent.allocation.plan import Past


@dataclass(frozen=True)
class History:
    """By block, as in `Past`: a block that is not named has had nothing to do with the steps so far."""

    directions: int = 0
    owed: Mapping[str, float] = field(default_factory=dict)
    waited: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def after(self, counts: Mapping[str, int], target: Mapping[str, float], directions: int) -> History:
        """After a step of `directions` in which each block was meant to have `target` and had `counts`."""
        return History(
            self.directions + directions,
            {name: self.owed.get(name, 0.0) + target[name] - counts.get(name, 0) for name in target},
            {name: 0 if counts.get(name) else self.waited.get(name, 0) + 1 for name in target},
            {name: 0 if target[name] > 0 else self.left_out.get(name, 0) + 1 for name in target},
        )

    def past(self, names: Sequence[str]) -> Past:
        """The same as arrays [M] over `names`."""
        return Past(
            self.directions,
            np.array([self.owed.get(name, 0.0) for name in names]),
            np.array([self.waited.get(name, 0) for name in names], dtype=np.int64),
            np.array([self.left_out.get(name, 0) for name in names], dtype=np.int64),
        )


def history_of(records: Sequence[Mapping[str, Any]]) -> History:
    """The history that journal records tell, oldest first."""
    return reduce(history_after, records, History())


def history_after(history: History, record: Mapping[str, Any]) -> History:
    """`history` and the step of one more record."""
    counts: dict[str, int] = record["allocation"]
    population = record["population"]
    directions = len(population["members"]) // (2 if population["antithetic"] else 1)
    # A journal of an earlier version has no targets, for they were all equal, and no counts of 0.
    names = dict.fromkeys([*record["sigma"], *counts])
    equal = sum(counts.values()) / len(names) if names else 0.0
    return history.after(counts, record.get("target") or dict.fromkeys(names, equal), directions)
