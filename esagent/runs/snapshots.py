"""Snapshots of the searched parameters: they bound the replay time of a resume and nothing else.

`step-000004.safetensors` is the state after 4 updates; `step-000004.json` beside it, sealed for the run, holds its
SHA-256 and is written last, so a snapshot without it was never finished. Both are written atomically (see `atomic`): a
kill at any moment leaves the earlier snapshots as they were. The price is the space of one more snapshot while one is
written, and two fsyncs of it; with a damaged newest snapshot a resume replays a few more steps from an older one.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError

from esagent.backends.base import Distributed
from esagent.errors import EnvironmentFailure
from esagent.runs.atomic import replacing, reporting, write_json
from esagent.runs.jsonio import parse
from esagent.runs.seal import is_sound, sealed

_log = logging.getLogger(__name__)


class Saveable(Protocol):
    """The part of a backend that snapshots use."""

    def save(self, path: Path) -> None: ...

    def digest(self) -> str: ...


@dataclass(frozen=True)
class Snapshot:
    """One finished snapshot. `step` counts the updates done; `digest` is the backend's at that state."""

    step: int
    path: Path
    sha256: str
    digest: str

    def damage(self) -> str:
        """What is wrong with the file, "" when it is what was written. Reads all of it."""
        try:
            with self.path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return error.strerror or str(error)
        return "" if found == self.sha256 else "its SHA-256 is not the one it was written with"


def snapshot_file(folder: Path, step: int) -> Path:
    """Where the state after `step` updates is kept."""
    return folder / f"step-{step:06d}.safetensors"


def write_snapshot(folder: Path, step: int, backend: Saveable, seal: str = "") -> Snapshot:
    """Save the state after `step` updates; when this returns it survives a power loss. `seal`: that of the run.

    Raises EnvironmentFailure when the disk does not take it; nothing is left of the attempt then.
    """
    target = snapshot_file(folder, step)
    with replacing(target) as temporary:
        try:
            backend.save(temporary)
        except SafetensorError as error:  # how safetensors reports a disk that is full
            raise EnvironmentFailure(f"cannot write {target}: {error}") from error
        with temporary.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size = temporary.stat().st_size
    snapshot = Snapshot(step, target, sha256, backend.digest())
    note = {"step": step, "sha256": sha256, "bytes": size, "digest": snapshot.digest}
    write_json(target.with_suffix(".json"), sealed(note, seal))
    if isinstance(backend, Distributed):
        backend.kept(target)
    return snapshot


def list_snapshots(folder: Path, seal: str | None = None) -> list[Snapshot]:
    """Every finished snapshot, oldest first; one whose note cannot be believed is left out with a warning.

    seal: that of the run the snapshots must be of; None takes any run's.
    """
    found = []
    for path in sorted(folder.glob("step-*.json")):
        try:
            note = parse(path.read_bytes())
            snapshot = Snapshot(int(note["step"]), path.with_suffix(".safetensors"), note["sha256"], note["digest"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("snapshot %s is skipped: its note cannot be read (%r)", path.stem, error)
            continue
        if path.stem != f"step-{snapshot.step:06d}" or (seal is not None and not is_sound(note, seal)):
            _log.warning("snapshot %s is skipped: its note is damaged or of another run", path.stem)
            continue
        found.append(snapshot)
    return sorted(found, key=lambda snapshot: snapshot.step)


def newest_verified(folder: Path, at_most: int | None = None, seal: str | None = None) -> Snapshot | None:
    """The newest snapshot (of state `at_most` or earlier) whose SHA-256 is right; damaged ones give a warning."""
    for snapshot in reversed(list_snapshots(folder, seal)):
        if at_most is not None and snapshot.step > at_most:
            continue
        damage = snapshot.damage()
        if not damage:
            return snapshot
        _log.warning("snapshot %s is skipped: %s", snapshot.path, damage)
    return None


def prune(folder: Path, last: int, keep: Collection[int] = (0,)) -> None:
    """Delete all snapshots but the newest `last` and those of the states in `keep` (the start, the best).

    The note goes first: what a kill leaves in between counts as unfinished, not as damaged. Unfinished ones go too, so
    call it only while holding the run's lock.
    """
    snapshots = list_snapshots(folder)
    spared = {s.step for s in snapshots[max(0, len(snapshots) - last) :]} | set(keep)
    with reporting("delete snapshots in", folder):
        for snapshot in snapshots:
            if snapshot.step not in spared:
                snapshot.path.with_suffix(".json").unlink(missing_ok=True)
        for path in folder.glob("step-*.safetensors"):
            if not path.with_suffix(".json").exists():
                path.unlink(missing_ok=True)
