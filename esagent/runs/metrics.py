"""metrics.jsonl: numbers for people and plots, one JSON object a line.

Rows of kind `step` (step n: state n was searched around) and `evaluation` (the unperturbed agent after n updates on one
split). Numbers that are not finite are null. Rows are flushed, not fsynced, and never replayed: those of steps follow
from the journal, and those of evaluations are sealed for the run and can be made again (see `mend`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esagent.runs.atomic import reporting
from esagent.runs.jsonio import canonical, parse, plain

Row = dict[str, Any]


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one row with at least `kind` and `step`. Raises EnvironmentFailure when the disk does not take it."""
    with reporting("write", path), path.open("a") as file:
        file.write(canonical(plain(row)) + "\n")


def read_rows(path: Path) -> list[Row]:
    """All whole rows in order; lines that are no rows are left out, a missing file has none."""
    return [row for row in read_lines(path) if row is not None]


def read_lines(path: Path) -> list[Row | None]:
    """One entry a line: the row, or None where there is none."""
    with reporting("read", path):
        lines = path.read_text(errors="replace").split("\n") if path.exists() else [""]
    # Without a line end the last row is torn, even where what there is of it reads as one.
    return [_row(line) for line in lines[:-1]] + ([None] if lines[-1] else [])


def _row(line: str) -> Row | None:
    try:
        row = parse(line)
    except ValueError:
        return None
    if isinstance(row, dict) and isinstance(row.get("kind"), str) and type(row.get("step")) is int and row["step"] >= 0:
        return row
    return None
