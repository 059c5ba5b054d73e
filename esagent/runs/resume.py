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
from esagent.runs.evidence import require_all_records, withdraw
from esagent.runs.identity import Identity
from esagent.runs.journal import Journal, inspect_journal
from esagent.runs.snapshots import Snapshot, list_snapshots, newest_verified, write_snapshot

_log = logging.getLogger(__name__)


class Replayable(Protocol):
    """The part of a backend that replay uses."""

    def apply(self, update: Update) -> Applied: ...

    def digest(self) -> str: ...

    def save(self, path: Path) -> None: ...

    def load(self, path: Path) -> None: ...


def recover(run: RunDirectory, backend: Replayable, start: Identity) -> Journal:
    """Bring `backend` (in its initial state) to the state after the last journal record; returns the open journal.

    Cuts off a torn journal line and writes a lost snapshot of the start again, so call it while holding the run's lock.
    Raises RunError, and changes nothing, when the journal is damaged, of another run, or short of records that other
    files prove, or when the untrained backend is not the one the run began with; naming the first step whose replay
    gives other numbers than the run had.
    """
    content = inspect_journal(run.journal, start.seal)
    content.warn(run.journal)
    require_all_records(run, content, start)
    for path in sorted(run.snapshots.glob("step-*.safetensors")):
        if not path.with_suffix(".json").exists():
            _log.warning("snapshot %s is skipped: it was never finished, or its note is lost", path)
    sound = to_start(run.snapshots, backend, start)
    if content.records:
        if not sound:
            _log.warning("%s: the snapshot of the start is missing or damaged and is written again", run.snapshots)
            write_snapshot(run.snapshots, 0, backend, start.seal)
        replay(run.snapshots, content.records, backend, len(content.records), start)
    if content.torn:
        withdraw(run, content, start)
    return Journal(run.journal, start.seal)


def replay(folder: Path, records: Sequence[dict[str, Any]], backend: Replayable, upto: int, start: Identity) -> None:
    """Bring `backend` to the state after the first `upto` records, as fast as snapshots allow.

    The backend may be in any state where a sound snapshot of `upto` or earlier exists, else it must be in its initial
    one. A snapshot of a later state, a damaged one, and one that is not of this journal are passed over. Raises
    RunError naming the step where digests part, or when state 0 is asked for and it has no sound snapshot.
    """
    snapshot = _usable(folder, [start.digest, *(record["digest"] for record in records)], upto, start.seal)
    first = 0
    if snapshot is not None:
        backend.load(snapshot.path)
        _compare(backend.digest(), snapshot.digest, f"loading {snapshot.path.name}")
        first = snapshot.step
    elif upto == 0:
        raise RunError(f"{folder} holds no sound snapshot of the start")
    for record in records[first:upto]:
        applied = backend.apply(decode_update(record["update"]))
        _compare(applied.digest, record["digest"], f"replaying step {record['step']}")


def to_start(folder: Path, backend: Replayable, start: Identity) -> bool:
    """Bring a backend that was just made to the state before the first update; returns whether that has a snapshot.

    Raises RunError when it is in another one and there is no sound snapshot to bring it there.
    """
    found = [snapshot for snapshot in list_snapshots(folder, start.seal) if snapshot.step == 0]
    sound = bool(found) and not found[0].damage() and found[0].digest == start.digest
    if backend.digest() != start.digest:
        if not sound:
            raise RunError(
                f"the run began from digest {start.digest}, its settings now give {backend.digest()}, and {folder} "
                "holds no sound snapshot of the start"
            )
        backend.load(found[0].path)
        _compare(backend.digest(), start.digest, f"loading {found[0].path.name}")
    return sound


def _usable(folder: Path, digests: Sequence[str], upto: int, seal: str) -> Snapshot | None:
    snapshot = newest_verified(folder, upto, seal)
    while snapshot is not None and snapshot.digest != digests[snapshot.step]:
        _log.warning("snapshot %s is skipped: it is not of the state the journal describes", snapshot.path)
        snapshot = newest_verified(folder, snapshot.step - 1, seal)
    return snapshot


def _compare(found: str, expected: str, action: str) -> None:
    if found != expected:
        raise RunError(
            f"{action} gave digest {found}, the run had {expected}; the same numbers are promised only for the same "
            "device type, thread count and library versions (manifest.json names those of the run)"
        )
