"""Every run in a folder, as rows for a table or for other programs. A damaged run is a row too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from esagent.report.results import results
from esagent.report.run import Run, read_run
from esagent.report.spending import budget_of
from esagent.report.text import age, duration

_TRACES = ("config.yaml", "manifest.json", "journal.jsonl", "metrics.jsonl", "summary.json")


def list_rows(runs_dir: Path, now: datetime | None = None) -> list[dict[str, Any]]:
    """One row per folder `<name>/<run-id>` that holds any file of a run, newest first."""
    rows = [row(read_run(path), now or datetime.now(UTC)) for path in _folders(runs_dir)]
    return sorted(rows, key=lambda found: (found["started"] or "", found["run"]), reverse=True)


def row(run: Run, now: datetime) -> dict[str, Any]:
    """A run in one line: who it is, how far, how well, how long, how old, and what of it cannot be read."""
    found = {} if run.state == "unreadable" else _results(run)
    spent = run.spent
    return {
        "run": run.label,
        "name": run.directory.name,
        "id": run.directory.id,
        "path": str(run.directory.path),
        "state": run.state,
        "objective": run.objective,
        "detail": run.detail,
        "updates": run.updates,
        "steps": run.steps,
        **{split: _pair(found.get(split)) for split in ("pool", "heldout")},
        "budget": budget_of(run),
        "episodes": spent["episodes"],
        "tokens": spent["prompt_tokens"] + spent["completion_tokens"],
        "flops": spent["flops"],
        "seconds": run.seconds,
        "started": run.started.isoformat() if run.started else None,
        "age_seconds": (now - run.started).total_seconds() if run.started else None,
        "problems": list(run.problems),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows for people."""
    found = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("run", "state"):
        found.add_column(heading, overflow="fold")
    for heading in ("steps", "pool", "held-out", "time", "age"):
        found.add_column(heading, justify="right", no_wrap=True)
    for line in rows:
        steps = f"{line['updates']}/{line['steps'] if line['steps'] is not None else '?'}"
        state = line["state"] + (", supervised" if line["objective"] == "likelihood" else "")
        cells = [line["run"], state, steps, _arrow(line["pool"]), _arrow(line["heldout"])]
        found.add_row(*map(Text, [*cells, duration(line["seconds"]), age(line["age_seconds"])]))
    return found


def _results(run: Run) -> dict[str, Any]:
    # Of what a file may hold only the shape was checked when it was read.
    try:
        return {split: part for split, part in results(run).items() if isinstance(part.get("base"), int | float)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _pair(part: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"base": (part or {}).get("base"), "trained": (part or {}).get("trained")}


def _arrow(pair: Mapping[str, Any]) -> str:
    known = [f"{value:.2f}" for value in (pair["base"], pair["trained"]) if isinstance(value, int | float)]
    return " → ".join(known) or "-"


def _folders(runs_dir: Path) -> Iterator[Path]:
    for group in _subfolders(runs_dir):
        for path in _subfolders(group):
            if any((path / trace).exists() for trace in _TRACES) and not (path / "eval.json").exists():
                yield path


def _subfolders(folder: Path) -> list[Path]:
    """Visible folders in `folder`; none where it may not be read."""
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
