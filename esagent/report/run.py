"""A run directory as reports see it: everything that can be read, and one line for everything that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from esagent.core.ledger import total
from esagent.errors import EnvironmentFailure
from esagent.report.rows import History, read_history
from esagent.runs.directory import RunDirectory
from esagent.runs.jsonio import parse
from esagent.runs.status import status
from esagent.runs.trust import doubts


@dataclass(frozen=True)
class Run:
    """Plain values from the files of a run; what is missing or damaged is empty, and named in `problems`.

    state: finished, running, interrupted, failed, or unreadable when its configuration is. updates: journaled ones; of
    a finished run those that count.
    seconds: spent so far. started: UTC, None when unknown.
    """

    directory: RunDirectory
    config: dict[str, Any]
    manifest: dict[str, Any]
    history: History
    state: str
    detail: str
    updates: int
    seconds: float | None
    started: datetime | None
    problems: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json; empty when the run has none."""
        return self.history.summary

    @property
    def label(self) -> str:
        """name/run-id."""
        return f"{self.directory.name}/{self.directory.id}"

    @property
    def objective(self) -> str:
        """What its members were compared by: reward or likelihood."""
        return "likelihood" if self.supervised else "reward"

    @property
    def supervised(self) -> bool:
        """Whether it was trained on gold outputs, were it for a part of its steps (a fork)."""
        rows = (row.get("objective") for row in self.history.rows)
        return "likelihood" in (self.config.get("objective"), *rows)

    @property
    def steps(self) -> int | None:
        """Updates that the run was to make; with a budget of another kind, those it made once it is finished."""
        budget = self.config.get("budget")
        steps = budget.get("steps") if isinstance(budget, dict) else None
        steps = self.summary.get("steps") if steps is None else steps
        return steps if isinstance(steps, int) else None

    @property
    def spent(self) -> dict[str, float]:
        """What training has cost so far, by `core.ledger.total`; without a step that went beyond the budget."""
        return total(self.history.rows[: self.updates])


def read_run(path: Path) -> Run:
    """Read the run in `path`. Never raises for what a file holds or lacks."""
    directory = RunDirectory(path)
    problems: list[str] = []
    config = _config(directory.config, problems)
    manifest = _json(directory.manifest, problems)
    summary = _json(directory.summary, problems) if directory.summary.exists() else {}
    try:
        history = read_history(path, summary)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problems.append(f"metrics.jsonl cannot be read: {_line(error)}")
        history = History(summary=summary)
    try:
        state, detail = status(directory)
        updates = _count_lines(directory.journal)
    except OSError as error:
        problems.append(f"{Path(str(error.filename)).name} cannot be read: {_line(error)}")
        state, detail, updates = "interrupted", "", 0
    problems += _doubts(directory, problems)
    seconds, counted = history.summary.get("seconds"), history.summary.get("steps")
    return Run(
        directory,
        config,
        manifest,
        history,
        state if config else "unreadable",
        detail,
        min(updates, counted) if isinstance(counted, int) else updates,
        float(seconds) if isinstance(seconds, int | float) else history.seconds,
        _started(manifest, directory.id),
        tuple(problems),
    )


def _doubts(directory: RunDirectory, problems: list[str]) -> list[str]:
    """What else is wrong with files that could be read."""
    try:
        return [f"{name} {text}" for name, text in doubts(directory) if not any(p.startswith(name) for p in problems)]
    except EnvironmentFailure as error:
        return [] if problems else [_line(error)]


def _config(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        problems.append(f"{path.name} cannot be read: {_line(error)}")
        return {}
    if not isinstance(found, dict) or not {"model", "task", "budget"} <= found.keys():
        problems.append(f"{path.name} is not a configuration of esagent")
        return {}
    return found


def _json(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problems.append(f"{path.name} cannot be read: {_line(error)}")
        return {}
    if not isinstance(found, dict):
        problems.append(f"{path.name} is not a JSON object")
        return {}
    return found


def _count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _started(manifest: dict[str, Any], run_id: str) -> datetime | None:
    for text, form in _times(manifest, run_id):
        try:
            found = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


def _times(manifest: dict[str, Any], run_id: str) -> Iterator[tuple[str, str]]:
    yield str(manifest.get("started", "")), ""
    yield run_id[:15], "%Y%m%d-%H%M%S"


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__
