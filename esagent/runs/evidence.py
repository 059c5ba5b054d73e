"""Files that stand beside the journal and prove how many steps it must hold.

A snapshot of state n, an evaluation of it and the episodes of step n are written only after the record of step n - 1
was fsynced. Where one of them is ahead of the journal, records that had been acknowledged are gone (a copy made while
the run was at work, an old journal put back): the steps are not quietly done again over what is left of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

from esagent.errors import RunError
from esagent.runs.atomic import reporting, write_text
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import Identity
from esagent.runs.journal import Content
from esagent.runs.jsonio import canonical
from esagent.runs.metrics import read_rows
from esagent.runs.seal import is_sound
from esagent.runs.snapshots import list_snapshots

_log = logging.getLogger(__name__)
_STEP = re.compile(r"step-(\d{6,})\.jsonl\.zst")


def require_all_records(run: RunDirectory, content: Content, start: Identity) -> None:
    """Raise RunError when `content` of the journal lacks records, naming the file that proves them.

    A torn last line may be of a step that had been acknowledged: what is one state ahead is no proof then.
    """
    have = len(content.records)
    ahead = sorted((proof for proof in _proofs(run, start) if proof[0] > have + bool(content.torn)), reverse=True)
    if not ahead:
        return
    needed, name = ahead[0]
    raise RunError(
        f"{run.journal} holds {have} steps, but {name} was written after step {needed - 1}: records are missing. Bring "
        f"the journal back from a copy, or go on from step {have} by deleting what is ahead of it ({_list(ahead)})"
    )


def withdraw(run: RunDirectory, content: Content, start: Identity) -> None:
    """Delete, with a warning, what the step behind a torn line left: it is ahead of the journal until it is done again.

    To be done before the torn line is cut off, for without it these files would prove that a record is missing.
    """
    have = len(content.records)
    ahead = [name for needed, name in _proofs(run, start) if needed > have]
    if not ahead:
        return
    _log.warning("%s: deleted, for they are ahead of the journal: %s", run.path, ", ".join(dict.fromkeys(ahead)))
    with reporting("delete from", run.path):
        for name in ahead:
            path = run.path / name
            if path.suffix == ".safetensors":
                path.with_suffix(".json").unlink(missing_ok=True)
            if path != run.metrics:
                path.unlink(missing_ok=True)
    rows = [row for row in read_rows(run.metrics) if row["step"] < have + (row["kind"] == "evaluation")]
    write_text(run.metrics, "".join(canonical(row) + "\n" for row in rows))


def _proofs(run: RunDirectory, start: Identity) -> Iterator[tuple[int, str]]:
    """(records that must have been there, file that says so)."""
    for snapshot in list_snapshots(run.snapshots, start.seal):
        yield snapshot.step, f"snapshots/{snapshot.path.name}"
    for row in read_rows(run.metrics):
        if row["kind"] == "evaluation" and is_sound(row, start.seal):
            yield row["step"], run.metrics.name
    for path in run.episodes.glob("step-*"):
        named = _STEP.fullmatch(path.name)
        if named:
            yield int(named[1]), f"episodes/{path.name}"


def _list(ahead: list[tuple[int, str]], limit: int = 4) -> str:
    names = list(dict.fromkeys(name for _, name in ahead))
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
