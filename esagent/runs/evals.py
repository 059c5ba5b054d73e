"""Evaluations made by `esagent eval`: one folder each, `RUN/evals/<id>/`, or `<runs_dir>/eval/<id>/` of a bare model.

The id is the UTC time and the split, e.g. 20261130-131500-heldout. `eval.json` is written last: a folder without it is
unfinished. Nothing of the run itself is touched, so its journal, metrics and resume do not know of evaluations.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from esagent.runs.atomic import reporting, sync_folder

RESULT = "eval.json"


def evals_folder(run: Path) -> Path:
    """Where the evaluations of a run lie."""
    return run / "evals"


@contextlib.contextmanager
def new_eval(parent: Path, split: str, now: datetime | None = None) -> Iterator[Path]:
    """Make a folder of its own in `parent` for the body to fill; when the body fails, nothing is left behind.

    Raises EnvironmentFailure when the disk does not take it.
    """
    stamp = f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%d-%H%M%S}-{split}"
    made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
    with reporting("make a folder in", parent):
        parent.mkdir(parents=True, exist_ok=True)
        folder = _exclusive(parent, stamp)
        sync_folder(parent)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        for empty in made:
            with contextlib.suppress(OSError):  # another evaluation or run lives there by now
                empty.rmdir()
        raise


def episodes_name(agent: str, sampled: bool) -> str:
    """File name of what `agent` (base or trained) did."""
    return f"{agent}-{'sampled' if sampled else 'greedy'}.jsonl.zst"


def list_evals(parent: Path) -> list[Path]:
    """Folders of the finished evaluations in `parent`, oldest first."""
    return sorted(path.parent for path in parent.glob(f"*/{RESULT}"))


def read_eval(folder: Path) -> dict[str, Any] | None:
    """The result of one evaluation; None when it cannot be read."""
    try:
        found = json.loads((folder / RESULT).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _exclusive(parent: Path, name: str) -> Path:
    suffix = 1
    while True:
        folder = parent / (name if suffix == 1 else f"{name}-{suffix}")
        try:
            folder.mkdir()
        except FileExistsError:
            suffix += 1
        else:
            return folder
