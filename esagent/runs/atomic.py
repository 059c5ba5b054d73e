"""Atomic files: a reader sees the old content or the new one, never a part, whatever moment the process dies.

The bytes go to a temporary file in the same folder (so that the rename never crosses a file system), are fsynced, take
the target's place by `os.replace`, and the folder is fsynced so that the rename itself survives a power loss.

Trade-offs: two fsyncs per file (milliseconds on a local disk, tens of them on a network one); twice the space of the
target while it is written; a hard link to the old file keeps the old content; a killed process leaves a `.tmp-*` file
behind, which `remove_leftovers` clears. Metadata of the old file (mode, owner) is not carried over: the mode follows
the umask, as of any new file. Where a folder
cannot be opened or synced (Windows, some network file systems) the rename is atomic but may be lost with the power.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from esagent.errors import EnvironmentFailure
from esagent.runs.jsonio import pretty

_PREFIX = ".tmp-"


@contextlib.contextmanager
def reporting(action: str, path: Path) -> Iterator[None]:
    """Turn any OSError of the body into one line: EnvironmentFailure "cannot <action> <path>: <reason>"."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason += "; free some space, or set runs_dir to a folder on another disk"
        raise EnvironmentFailure(f"cannot {action} {path}: {reason}") from error


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write; on a clean exit it becomes `target`, on any exception it is removed.

    The temporary name ends like the target's, for writers that look at the suffix. Raises EnvironmentFailure when the
    disk does not take it; `target` is then untouched.
    """
    temporary = target.with_name(f"{_PREFIX}{os.getpid()}-{target.name}")
    try:
        with reporting("write", target):
            if target.exists() and not target.is_file():  # a device, say, which a rename would take away
                raise OSError(errno.EINVAL, "there is something that is no file")
            temporary.touch()
            mode = stat.S_IMODE(temporary.stat().st_mode)
            yield temporary
            os.chmod(temporary, mode)  # some writers (safetensors) make a file of their own, for its owner alone
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
            sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):  # a name too long for the disk, say, which was told already
            temporary.unlink(missing_ok=True)


def write_bytes(target: Path, data: bytes) -> None:
    """Atomically make `data` the content of `target`."""
    with replacing(target) as temporary:
        temporary.write_bytes(data)


def write_text(target: Path, text: str) -> None:
    """Atomically make `text` (UTF-8) the content of `target`."""
    write_bytes(target, text.encode())


def write_json(target: Path, value: Any) -> None:
    """Atomically write `value` as indented JSON; numbers that are not finite become null."""
    write_text(target, pretty(value))


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, where the platform can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows does not open folders
        return
    try:
        with contextlib.suppress(OSError):  # EINVAL on some network file systems
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> list[Path]:
    """Delete files that killed writers left in `folder` (not below it). Call only while holding the run's lock."""
    found = sorted(path for path in folder.glob(f"{_PREFIX}*") if path.is_file())
    for path in found:
        path.unlink(missing_ok=True)
    return found
