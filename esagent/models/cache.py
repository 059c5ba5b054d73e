"""A cache of folders that are expensive to make: made once, by one process, whole or not at all, and checked on use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from esagent.errors import EnvironmentFailure

MANIFEST = "manifest.json"


def cache_root() -> Path:
    """$ESAGENT_CACHE, else the platform's cache folder for this user (made if missing).

    Raises EnvironmentFailure if the folder cannot be made or written to.
    """
    chosen = os.environ.get("ESAGENT_CACHE")
    root = Path(chosen).expanduser() if chosen else user_cache_path("esagent")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(_unwritable(root, error)) from error
    if not os.access(root, os.W_OK):
        raise EnvironmentFailure(_unwritable(root, PermissionError("not writable")))
    return root


def _unwritable(root: Path, error: OSError) -> str:
    return f"the cache folder {root} cannot be used ({error.strerror or error}); set ESAGENT_CACHE to a folder that can"


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def build_once(target: Path, build: Callable[[Path], None]) -> Path:
    """Return `target`, an intact folder, calling `build(empty folder)` to fill it only if it is not there or damaged.

    However many processes ask at once, one builds and the others wait for it. The folder appears under its name by one
    rename after every byte has reached the disk, so a process killed at any moment leaves nothing half made.
    Content is checked against the SHA-256 of every file each time, and a folder that fails is made again.
    """
    if intact(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_name(target.name + ".lock")):
        if intact(target):  # another process made it while this one waited
            return target
        for leftover in target.parent.glob(f".{target.name}.*"):  # of a killed builder: only the lock's holder builds
            shutil.rmtree(leftover)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            build(partial)
            _seal(partial)
            if target.exists():
                shutil.rmtree(target)
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        _sync(target.parent)
    return target


def intact(folder: Path) -> bool:
    """Whether every file that the manifest of `folder` names is there with the content it had when it was made."""
    try:
        files = json.loads((folder / MANIFEST).read_text())
        return all(file_sha256(folder / name) == digest for name, digest in files.items())
    except (OSError, ValueError, AttributeError):
        return False


def _seal(folder: Path) -> None:
    """Write the manifest and force everything to disk."""
    files = {str(p.relative_to(folder)): file_sha256(p) for p in sorted(folder.rglob("*")) if p.is_file()}
    (folder / MANIFEST).write_text(json.dumps(files, indent=1))
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o755 if path.is_dir() else 0o644)  # temporary files are private; a cache may be shared
        _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
