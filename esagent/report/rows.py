"""Reading a run directory for a report: rows of metrics.jsonl and the summary, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from esagent.runs.jsonio import parse


@dataclass(frozen=True)
class Evaluation:
    """The unperturbed agent after `step` updates; `rewards` of the scored tasks, `tasks` their ids (may be empty).

    signals: per module, the mean share of its work that was right. blamed: failed tasks by the module that they are
    due to.
    """

    step: int
    mean: float
    rewards: tuple[float, ...] = ()
    tasks: tuple[str, ...] = ()
    signals: dict[str, float] = field(default_factory=dict)
    blamed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """A run as plots need it: evaluations per split in order of steps, and (step, mean, spread) of the members.

    Members whose fitness is no reward are left out. rows: those of the steps, in order. seconds: time of all steps and
    evaluations. calibration: its row, empty without one.
    """

    evaluations: dict[str, list[Evaluation]] = field(default_factory=dict)
    members: list[tuple[int, float, float]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    calibration: dict[str, Any] = field(default_factory=dict)


def read_history(run: Path, summary: dict[str, Any] | None = None) -> History:
    """Everything a learning curve shows. Of rows written twice (a resumed run) the later one counts.

    summary: the content of summary.json where it was read already.
    """
    evaluations: dict[str, dict[int, Evaluation]] = {}
    members: dict[int, tuple[int, float, float]] = {}
    rows: dict[int, dict[str, Any]] = {}
    calibration: dict[str, Any] = {}
    seconds = 0.0
    for row in _json_lines(run / "metrics.jsonl"):
        step = int(row["step"])
        seconds += float(row.get("seconds") or 0.0)
        if row["kind"] == "evaluation" and row.get("mean") is not None:
            evaluations.setdefault(row["split"], {})[step] = _evaluation(row)
        elif row["kind"] == "step" and row.get("reward_mean") is not None:
            if row.get("objective", "reward") == "reward":  # others are on another scale than evaluations
                members[step] = (step, float(row["reward_mean"]), float(row.get("reward_std") or 0.0))
            rows[step] = row
        elif row["kind"] == "calibration":
            calibration = row
    if summary is None:
        path = run / "summary.json"
        summary = parse(path.read_bytes()) if path.exists() else {}
    return History(
        {split: [found[step] for step in sorted(found)] for split, found in evaluations.items()},
        [members[step] for step in sorted(members)],
        summary,
        [rows[step] for step in sorted(rows)],
        seconds,
        calibration,
    )


def _evaluation(row: dict[str, Any]) -> Evaluation:
    rewards = row.get("rewards") or []
    scored = [i for i, reward in enumerate(rewards) if reward is not None]
    tasks = [str(task) for task in row.get("tasks") or []]
    return Evaluation(
        int(row["step"]),
        float(row["mean"]),
        tuple(float(rewards[i]) for i in scored),
        tuple(tasks[i] for i in scored) if len(tasks) == len(rewards) else (),
        {str(module): float(value) for module, value in (row.get("signals") or {}).items() if value is not None},
        {str(module): int(count) for module, count in (row.get("blamed") or {}).items()},
    )


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """Whole rows; a torn line (the process died there) is left out."""
    rows = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            row = parse(line)
        except ValueError:
            continue
        if isinstance(row, dict) and {"kind", "step"} <= row.keys():
            rows.append(row)
    return rows
