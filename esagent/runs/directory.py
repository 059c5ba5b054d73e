"""The run directory `runs/<name>/<run-id>/`: how one is made, what is in it, how it is undone.

docs/run-directory.md describes each file for readers.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from esagent.config.files import user_path
from esagent.errors import ConfigError, EnvironmentFailure, RunError
from esagent.runs.atomic import sync_folder, write_text

PREEMPTED = "preempted"
_VANISHED = 100


@dataclass(frozen=True)
class RunDirectory:
    """Paths of everything in one run. `made` are the parent folders that came into being with it, innermost last."""

    path: Path
    made: tuple[Path, ...] = ()

    @property
    def typed(self) -> str:
        """The path as a shell takes it, for advice."""
        return shlex.quote(str(self.path))

    @property
    def id(self) -> str:
        """UTC time and seed, e.g. 20261130-124500-s0."""
        return self.path.name

    @property
    def name(self) -> str:
        """The folder that keeps runs of one kind together."""
        return self.path.parent.name

    @property
    def config(self) -> Path:
        """The resolved configuration (YAML)."""
        return self.path / "config.yaml"

    @property
    def manifest(self) -> Path:
        """Versions, machine, model hash, seeds, command line (JSON)."""
        return self.path / "manifest.json"

    @property
    def journal(self) -> Path:
        """One checksummed record per step (JSON lines)."""
        return self.path / "journal.jsonl"

    @property
    def calibration(self) -> Path:
        """What sigma=auto found before the first step (JSON)."""
        return self.path / "calibration.json"

    @property
    def metrics(self) -> Path:
        """One row per step and per evaluation (JSON lines)."""
        return self.path / "metrics.jsonl"

    @property
    def episodes(self) -> Path:
        """Folder of compressed episodes, one file per step or evaluation."""
        return self.path / "episodes"

    @property
    def snapshots(self) -> Path:
        """Folder of the searched parameters at some steps."""
        return self.path / "snapshots"

    @property
    def summary(self) -> Path:
        """The result (JSON); it exists only when the run is complete."""
        return self.path / "summary.json"

    @property
    def curve_svg(self) -> Path:
        """Learning curve."""
        return self.path / "curve.svg"

    @property
    def curve_png(self) -> Path:
        """Learning curve."""
        return self.path / "curve.png"

    @property
    def error_log(self) -> Path:
        """Traceback of the failure that ended the run, if one did."""
        return self.path / "error.log"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the run."""
        return self.path / "run.lock"

    @property
    def preempted(self) -> Path:
        """An empty file: a scheduler asked the run to stop, and it has not gone on since."""
        return self.path / PREEMPTED

    def discard(self) -> None:
        """Remove a run that never finished a step, with the folders that were made for it and are empty.

        Raises RunError when the journal already holds a record: such a run is worth resuming.
        """
        if self.journal.exists() and self.journal.stat().st_size > 0:
            raise RunError(f"{self.path} holds finished steps and is not thrown away; delete the folder by hand")
        shutil.rmtree(self.path, ignore_errors=True)
        _remove_empty(self.made)


def create_run(
    runs_dir: str | Path,
    name: str,
    seed: int,
    config: str,
    now: datetime | None = None,
    prepare: Callable[[RunDirectory], object] | None = None,
) -> RunDirectory:
    """Make a new run directory holding `config.yaml` (the text `config`) and empty folders.

    prepare: writes whatever else a run begins with. config.yaml comes after it, and only a folder with config.yaml is a
    run: one that was killed while it was made does not count.

    No two callers ever get the same one: the folder is made by exclusive mkdir, and a taken id gets a suffix (`-2`,
    `-3`, ...). When anything fails, nothing is left behind.

    Raises ConfigError for a name that is no plain folder name or a `runs_dir` that is a file, EnvironmentFailure when
    the folder cannot be written (permission, read-only, disk full).
    """
    check_name(name)
    stamp = (now or datetime.now(UTC)).astimezone(UTC)
    base = user_path(runs_dir) / name
    run_id = f"{stamp:%Y%m%d-%H%M%S}-s{seed}"
    made: list[Path] = []
    run: RunDirectory | None = None
    try:
        path = _exclusive(base, run_id, made)
        run = RunDirectory(path, tuple(made))
        run.episodes.mkdir()
        run.snapshots.mkdir()
        if prepare is not None:
            prepare(run)
        write_text(run.config, config)
        for folder in (path, *made):
            sync_folder(folder.parent)
    except BaseException as error:
        if run is not None:
            shutil.rmtree(run.path, ignore_errors=True)
        _remove_empty(made)
        if isinstance(error, OSError):
            raise _explain(error, base) from error
        raise
    return run


def open_run(path: str | Path) -> RunDirectory:
    """An existing run directory. Raises ConfigError when `path` is not one."""
    path = Path(path)
    if path.name in ("", ".."):  # of which neither a name nor an id can be read
        path = path.resolve()
    if not (path / "config.yaml").is_file():
        missing = "does not exist" if not path.exists() else "is not a run directory (it has no config.yaml)"
        if (path / "manifest.json").is_file():
            missing += "; what was in it also stands under `config` in manifest.json"
        raise ConfigError(f"run {path} {missing}")
    return RunDirectory(path)


def check_name(name: str) -> None:
    """Raise ConfigError unless `name` is one plain folder name."""
    if not name or name != name.strip() or name.startswith((".", "-")) or not name.isprintable():
        raise ConfigError(f"name={name!r} is not a folder name; use letters, digits, '-', '_' and '.', e.g. 'default'")
    bad = sorted({c for c in name if c in '/\\:*?"<>|'})
    if bad:
        nearest = "".join("-" if c in bad else c for c in name).strip("-") or "default"
        raise ConfigError(f"name={name!r} holds {' '.join(bad)}, which a folder name cannot; try name={nearest}")


def _exclusive(base: Path, run_id: str, made: list[Path]) -> Path:
    """Make and return `base/run_id`, or the first free `base/run_id-N`; fills `made` with new parents.

    A parent may vanish at any moment, when another process discards the only run in it: then all is tried again.
    """
    suffix = 1
    for _ in range(_VANISHED):
        try:
            _make_parents(base, made)
            while True:
                path = base / (run_id if suffix == 1 else f"{run_id}-{suffix}")
                try:
                    path.mkdir()
                except FileExistsError:
                    suffix += 1
                else:
                    return path
        except FileNotFoundError:
            continue
    raise FileNotFoundError(errno.ENOENT, "no folder can be made there", str(base))


def _make_parents(folder: Path, made: list[Path]) -> None:
    """`mkdir -p`, remembering what was made."""
    if folder.is_dir():
        return
    if folder != folder.parent:
        _make_parents(folder.parent, made)
    try:
        folder.mkdir()
    except FileExistsError:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    else:
        made.append(folder)


def _remove_empty(folders: list[Path] | tuple[Path, ...]) -> None:
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:  # another run lives there
            return


def _explain(error: OSError, base: Path) -> ConfigError | EnvironmentFailure:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOTDIR, errno.ENAMETOOLONG):
        where = error.filename or base
        return ConfigError(f"cannot make a run directory in {base}: {where}: {reason}; set runs_dir= and name= anew")
    return EnvironmentFailure(f"cannot make a run directory in {base}: {reason}; set runs_dir= to a writable folder")
