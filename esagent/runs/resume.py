"""Going on with a run: newest verified snapshot, then the journal's updates replayed, each checked by its digest."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from esagent.backends.base import Applied
from esagent.core.population import Update
from esagent.errors import RunError
from esagent.runs.codec import decode_update
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import Journal
from esagent.runs.metrics import rewind
from esagent.runs.snapshots import Snapshot, newest_verified

_log = logging.getLogger(__name__)


class Replayable(Protocol):
    """The part of a backend that replay uses."""

    def apply(self, update: Update) -> Applied: ...

    def digest(self) -> str: ...

    def load(self, path: Path) -> None: ...


def recover(run: RunDirectory, backend: Replayable) -> tuple[int, list[dict[str, Any]]]:
    """Bring `backend` (in its initial state) to the state after the last journal record.

    Returns (next step, all records). Cuts off a torn journal line and takes metrics rows of the lost step away, so call
    it while holding the run's lock. Raises RunError when the journal is damaged, or naming the first step whose replay
    gives other numbers than the run had.
    """
    with Journal(run.journal) as journal:
        records = journal.records
    if records:
        replay(run.snapshots, records, backend, upto=len(records))
    rewind(run.metrics, len(records))
    return len(records), records


def replay(folder: Path, records: Sequence[dict[str, Any]], backend: Replayable, upto: int) -> None:
    """Bring `backend` to the state after the first `upto` records, as fast as snapshots allow.

    The backend may be in any state where a sound snapshot of `upto` or earlier exists, else it must be in its initial
    one. A snapshot of a later state, a damaged one, and one that is not of this journal are passed over. Raises
    RunError naming the step where digests part, or when state 0 is asked for and no snapshot of it can vouch for it.
    """
    start = 0
    snapshot = _usable(folder, records, upto)
    if snapshot is not None:
        backend.load(snapshot.path)
        _compare(backend.digest(), snapshot.digest, f"loading {snapshot.path.name}")
        start = snapshot.step
    elif upto == 0:
        raise RunError(f"{folder} holds no sound snapshot of the start, and no record's digest can stand in for it")
    for record in records[start:upto]:
        applied = backend.apply(decode_update(record["update"]))
        _compare(applied.digest, record["digest"], f"replaying step {record['step']}")


def _usable(folder: Path, records: Sequence[dict[str, Any]], upto: int) -> Snapshot | None:
    snapshot = newest_verified(folder, at_most=upto)
    while snapshot is not None and snapshot.step > 0 and snapshot.digest != records[snapshot.step - 1]["digest"]:
        _log.warning("snapshot %s is skipped: it is not of the state the journal describes", snapshot.path)
        snapshot = newest_verified(folder, at_most=snapshot.step - 1)
    return snapshot


def _compare(found: str, expected: str, action: str) -> None:
    if found != expected:
        raise RunError(
            f"{action} gave digest {found}, the run had {expected}; the same numbers are promised only for the same "
            "device type, thread count and library versions (manifest.json names those of the run)"
        )
