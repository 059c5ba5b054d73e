"""What a search did to each of its blocks, over the steps that led to the state that a run reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def block_summary(
    steps: Sequence[Row], evaluations: Sequence[Row], displacement: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """By block, from rows of metrics about `steps` and `evaluations`:

    directions    spent on it
    starved       share of the steps in which it got none; None without steps
    path          summed length of its steps, RMS in units of its scale
    displacement  how far it ended from where it started, the same way; None where that is not known
    signal        expected-signal movement: the sum of its steps' scales (see `record.expected_signal`)
    wasted        directions spent on it while it was solved: blamed for no failure in the last evaluation of the
                  unperturbed agent on the pool; None for what no episode can be blamed on
    """
    solved = _solved(steps, evaluations)
    names = dict.fromkeys(name for row in steps for name in row["directions"])
    return {
        name: {
            "directions": sum(row["directions"].get(name, 0) for row in steps),
            "starved": sum(not row["directions"].get(name, 0) for row in steps) / len(steps),
            "path": sum(row["moved"].get(name, 0.0) for row in steps),
            "displacement": displacement.get(name),
            "signal": sum(row["signal"].get(name, 0.0) for row in steps),
            "wasted": _wasted(name, steps, solved),
        }
        for name in names
    }


def _solved(steps: Sequence[Row], evaluations: Sequence[Row]) -> list[Mapping[str, int]]:
    """For each step, how many failures the last evaluation on the pool before it blames on each module."""
    told = {row["step"]: row.get("blamed") or {} for row in evaluations if row["split"] == "pool"}
    found: list[Mapping[str, int]] = []
    for row in steps:
        known = [step for step in told if step <= row["step"]]
        found.append(told[max(known)] if known else {})
    return found


def _wasted(name: str, steps: Sequence[Row], solved: Sequence[Mapping[str, int]]) -> int | None:
    if not all(name in blamed for blamed in solved):
        return None
    return sum(row["directions"].get(name, 0) for row, blamed in zip(steps, solved, strict=True) if blamed[name] == 0)
