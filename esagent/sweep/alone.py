"""No job twice: whoever does a job holds its lock, in whatever sweep, and the next one finds the job done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from esagent.sweep.devices import acquired
from esagent.sweep.folder import SweepFolder

_POLL = 0.2  # seconds


@contextlib.contextmanager
def alone(folder: SweepFolder, job: Mapping[str, Any]) -> Iterator[bool]:
    """Hold the lock of `job` for the body, waiting for it; False when the sweep is asked to stop before.

    The lock is the kernel's, so it falls with its holder in any way that one may end. Where the folder of the runs
    takes no lock file the body goes on without: a run that cannot be written there says so itself.
    """
    path = Path(job["folder"]).parent / ".multirun" / "jobs" / f"{job['key']}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(path), timeout=0)
        mine = acquired(lock)
    except OSError:
        yield True
        return
    if not mine:
        with folder.log(job["index"]).open("a") as log:
            log.write("esagent: another sweep is at work on this job; waiting for it\n")
    while not mine and not folder.stop_requests():
        time.sleep(_POLL)
        mine = acquired(lock)
    try:
        yield mine
    finally:
        if mine:
            lock.release()
