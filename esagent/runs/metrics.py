"""metrics.jsonl: numbers for people and plots, one JSON object a line. Never read to continue a run.

Rows of kind `step` (step n: state n was searched around) and `evaluation` (the unperturbed agent after n updates on one
split). Numbers that are not finite are null. Rows are flushed, not fsynced; a torn last line is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esagent.runs.atomic import reporting, write_text
from esagent.runs.jsonio import canonical, plain


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one row with at least `kind` and `step`. Raises EnvironmentFailure when the disk does not take it."""
    with reporting("write", path), path.open("a") as file:
        file.write(canonical(plain(row)) + "\n")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All whole rows in order; lines that are not JSON objects are left out, a missing file has none."""
    rows = []
    with reporting("read", path):
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "kind" in row and "step" in row:
            rows.append(row)
    return rows


def rewind(path: Path, next_step: int) -> None:
    """Take away rows of steps from `next_step` on and of evaluations after more than `next_step` updates."""
    if not path.exists():
        return
    rows = read_rows(path)
    kept = [row for row in rows if row["step"] < next_step + (row["kind"] == "evaluation")]
    write_text(path, "".join(canonical(row) + "\n" for row in kept))
