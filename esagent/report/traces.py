"""What runs did over time, gathered by arm: learning curves, credit, truth, directions and movement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from esagent.errors import ConfigError
from esagent.report.rows import History, read_history
from esagent.stats.results import Result
from esagent.stats.student import t_interval

Series = Mapping[int, float]
"""{updates done: value}"""


@dataclass(frozen=True)
class Arm:
    """The finished runs of one arm, one per training seed."""

    label: str
    histories: tuple[History, ...]


class Band(NamedTuple):
    """Mean over seeds at every step that all seeds have, with its 95% t-interval; no width for one seed."""

    steps: list[int]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def gather(results: Sequence[Result], labels: Sequence[str]) -> tuple[Arm, ...]:
    """The arms in order of first appearance; labels[i] is the arm of results[i].

    Raises ConfigError when a file holds what no run writes.
    """
    found: dict[str, list[History]] = {}
    for result, label in zip(results, labels, strict=True):
        if result.summary is None:
            continue
        try:
            found.setdefault(label, []).append(read_history(result.path, dict(result.summary)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"{result.path / 'metrics.jsonl'} holds something that no run writes") from error
    return tuple(Arm(label, tuple(histories)) for label, histories in found.items())


def learning_curve(history: History) -> Series:
    """Mean reward of the unperturbed agent on the pool."""
    return {evaluation.step: evaluation.mean for evaluation in history.evaluations.get("pool", [])}


def names_of(arms: Sequence[Arm], field: str) -> list[str]:
    """The modules or blocks that rows of `field` are about, in order of first appearance."""
    rows = (row for arm in arms for history in arm.histories for row in history.rows)
    return list(dict.fromkeys(name for row in rows for name in row.get(field) or {}))


def of_steps(field: str, name: str) -> Callable[[History], Series]:
    """What rows of steps hold of `field` for one module, by updates done."""

    def series(history: History) -> Series:
        rows = {int(row["step"]) + 1: (row.get(field) or {}).get(name) for row in history.rows}
        return {step: float(value) for step, value in rows.items() if value is not None}

    return series


def truth_of(name: str) -> Callable[[History], Series]:
    """The module's share of the unperturbed agent's failures on the pool, at every evaluation that has some."""

    def series(history: History) -> Series:
        known = [e for e in history.evaluations.get("pool", []) if name in e.blamed and any(e.blamed.values())]
        return {e.step: e.blamed[name] / sum(e.blamed.values()) for e in known}

    return series


def movement(arm: Arm, kind: str) -> dict[str, float]:
    """{block: mean over seeds}. kind: a quantity of the summary's `blocks`, without which path is the sum of steps."""
    found: dict[str, list[float]] = {}
    for history in arm.histories:
        for name, value in _movement(history, kind).items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def band(arm: Arm, series: Callable[[History], Series]) -> Band:
    """Mean and interval over the arm's seeds."""
    all_of = [series(history) for history in arm.histories]
    steps = sorted(set.intersection(*(set(found) for found in all_of)))
    values = np.array([[found[step] for step in steps] for found in all_of], dtype=np.float64)
    mean = values.mean(axis=0)
    if len(all_of) == 1:
        return Band(steps, mean, mean, mean)
    limits = [t_interval(column) for column in values.T]
    return Band(steps, mean, np.array([limit.low for limit in limits]), np.array([limit.high for limit in limits]))


def _movement(history: History, kind: str) -> dict[str, float]:
    blocks: Mapping[str, Mapping[str, Any]] = history.summary.get("blocks") or {}
    found = {name: float(own[kind]) for name, own in blocks.items() if own.get(kind) is not None}
    if found or kind != "path":
        return found
    for row in history.rows:
        for name, length in (row.get("moved") or {}).items():
            found[name] = found.get(name, 0.0) + float(length or 0.0)
    return found
