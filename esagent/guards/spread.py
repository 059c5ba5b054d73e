"""Rewards that do not tell members apart: all equal, or different by no more than the dust of floating point.

Equal rewards make no update, so a run in which they stay equal is one that does not search. Dust is worse: a z-score
and a normalised estimate make a full step of it, in a direction that says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esagent.config.schema import Config, Normalise, Shaping
from esagent.guards.finding import Finding

NAME = "spread"
IN_A_ROW = 3
"""Steps with equal members that make a fault, unless all is solved; a single one is often a small batch of tasks."""
DUST = 1e-6
"""Spread of the members' mean rewards, in units of the largest, below which it is no signal."""


def spread(config: Config, records: Sequence[Mapping[str, Any]], upto: int) -> Iterator[Finding]:
    """During a run, about the last of its first `upto` records.

    figure: standard deviation of the members' mean rewards.
    """
    step, (deviation, largest) = int(records[upto - 1]["step"]), _deviation(records[upto - 1])
    latest = records[max(0, upto - IN_A_ROW) : upto]
    if deviation == 0.0:
        lasting = len(latest) == IN_A_ROW and not any(_deviation(record)[0] for record in latest)
        yield Finding(
            NAME,
            "fault" if lasting and not _solved(records, upto) else "note",
            f"all members earned the same in {f'{IN_A_ROW} steps in a row' if lasting else 'a step'}, so that there "
            "is nothing to learn from",
            "take tasks that are neither solved nor hopeless (task.level, task.pool), more of them a step "
            "(budget.tasks_per_step), a graded reward, or a larger sigma",
            0.0,
            step,
        )
    elif deviation < DUST * largest and amplifies(config):
        yield Finding(
            NAME,
            "fault",
            f"members' rewards differ by {deviation:.2g} alone, which is rounding, and shaping makes a whole step of "
            "it",
            "look at the scorer; round its rewards, or take algorithm.shaping=none algorithm.normalise=none",
            deviation,
            step,
        )


def _solved(records: Sequence[Mapping[str, Any]], upto: int) -> bool:
    """Whether members differed before, and none ever earned more than all do now: there is nothing left to learn."""
    before = [record for record in records[: upto - 1] if _deviation(record)[0]]
    now = np.nanmax(_fitness(records[upto - 1]))
    return bool(before) and bool(now >= max(np.nanmax(_fitness(record)) for record in before))


def _deviation(record: Mapping[str, Any]) -> tuple[float, float]:
    """(standard deviation, largest absolute value) of the members' mean rewards; infinite where some failed."""
    fitness = _fitness(record)
    finite = fitness[np.isfinite(fitness)]
    if not len(finite):
        return 0.0, 0.0
    if len(finite) < len(fitness):  # failed members rank below the others
        return math.inf, float(np.abs(finite).max())
    same = bool((finite == finite[0]).all())  # the mean of equal numbers need not be that number
    return 0.0 if same else float(finite.std()), float(np.abs(finite).max())


def _fitness(record: Mapping[str, Any]) -> NDArray[np.float64]:
    """Mean reward of each member."""
    fitness: NDArray[np.float64] = np.array(record["rewards"], dtype=np.float64).mean(axis=1)
    return fitness


def amplifies(config: Config) -> bool:
    """Whether an estimate is as large when rewards hardly differ."""
    return config.algorithm.shaping is not Shaping.none or config.algorithm.normalise is not Normalise.none
