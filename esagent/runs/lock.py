"""One process per run, by locks of the kernel: they fall with the process, also after `kill -9`.

Two of them: one on the file run.lock, which every platform and most network file systems have, and one on the folder
itself where the platform can, for a lock file may be deleted while it is held and a second one made beside the holder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from esagent.errors import RunError
from esagent.runs.atomic import remove_leftovers, reporting
from esagent.runs.directory import RunDirectory

_LONGEST = 200


@contextlib.contextmanager
def locked(run: RunDirectory) -> Iterator[None]:
    """Hold `run` for the body, and clear what a killed holder left half-written.

    Raises RunError at once, naming the holder, when another process (or another holder in this one) has it;
    EnvironmentFailure when the folder takes no lock file.
    """
    holder = run.lock.with_suffix(".holder")
    lock = FileLock(str(run.lock), timeout=0, thread_local=False)
    with contextlib.ExitStack() as held, reporting("lock", run.path):
        try:
            lock.acquire()
            held.callback(lock.release)
            _lock_folder(run.path, held)
        except (Timeout, BlockingIOError) as error:  # themselves OSErrors
            raise RunError(f"{run.path} is in use by {_read(holder)}; wait until it ends, or stop it") from error
        holder.write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
        held.callback(holder.unlink, missing_ok=True)  # a discarded run has it no more
        kept = held.pop_all()
    with kept:
        for folder in (run.path, run.snapshots, run.episodes):
            remove_leftovers(folder)
        yield


def _lock_folder(path: Path, held: contextlib.ExitStack) -> None:
    """Lock the folder until `held` is closed. Raises BlockingIOError when another process has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    descriptor = os.open(path, os.O_RDONLY)
    held.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
            raise
        # Network file systems that lock files only.


def _read(holder: Path) -> str:
    """Who holds the run, in one line whatever became of the file."""
    try:
        words = holder.read_text(errors="replace").split()
    except OSError:
        words = []
    text = " ".join(words)
    return text[:_LONGEST] if text.isprintable() and text else "another process"
