"""Evaluations made by `esagent eval`: one folder each, `RUN/evals/<id>/`, or `<runs_dir>/eval/<id>/` of a bare model.

The id is the UTC time and the split, e.g. 20261130-131500-heldout. `eval.json` is written last: a folder without it is
unfinished. Nothing of the run itself is touched, so its journal, metrics and resume do not know of evaluations.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from esagent.config.files import is_file, user_path
from esagent.runs.atomic import reporting, sync_folder
from esagent.runs.jsonio import parse

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


def find_eval(text: str, runs_dir: str | Path = "runs") -> Path | None:
    """The folder of the evaluation that `text` names: its path, or `eval/<id>` or the id of one made without a run."""
    places = (user_path(text), Path(runs_dir) / text, Path(runs_dir) / "eval" / text)
    return next((folder for folder in places if is_file(folder / RESULT)), None)


def read_eval(folder: Path) -> dict[str, Any] | None:
    """The result of one evaluation; None when it cannot be read."""
    try:
        found = parse((folder / RESULT).read_bytes())
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
