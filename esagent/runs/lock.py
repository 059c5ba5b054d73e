"""One process per run, by a lock of the kernel: it falls with the process, also after `kill -9`."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

from filelock import FileLock, Timeout

from esagent.errors import RunError
from esagent.runs.atomic import remove_leftovers, reporting
from esagent.runs.directory import RunDirectory


@contextlib.contextmanager
def locked(run: RunDirectory) -> Iterator[None]:
    """Hold `run` for the body, and clear what a killed holder left half-written.

    Raises RunError at once, naming the holder, when another process (or another holder in this one) has it;
    EnvironmentFailure when the folder takes no lock file.
    """
    holder = run.lock.with_suffix(".holder")
    lock = FileLock(str(run.lock), timeout=0, thread_local=False)
    with reporting("lock", run.path):
        try:
            lock.acquire()
        except Timeout as error:  # itself an OSError
            raise RunError(f"{run.path} is in use by {_read(holder)}; wait until it ends, or stop it") from error
    try:
        with reporting("lock", run.path):
            holder.write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
        for folder in (run.path, run.snapshots, run.episodes):
            remove_leftovers(folder)
        yield
    finally:
        # A discarded run has neither file any more.
        holder.unlink(missing_ok=True)
        lock.release()


def _read(holder: os.PathLike[str]) -> str:
    try:
        with open(holder) as file:
            return file.read().strip() or "another process"
    except OSError:
        return "another process"
