"""A small process that outlives the one that started a cluster, and clears up what that may have left behind.

    python -m esagent.backends.ray.janitor PID FOLDER

Its standard input is a pipe that process PID holds and never writes to: it ends with PID, in whatever way. Ray ties its
own processes to PID, but agents of its node manager can outlive that one's sudden death. Every descendant of PID that
was seen is killed, and FOLDER removed.
"""

from __future__ import annotations

import select
import shutil
import sys
from pathlib import Path

import psutil

_LOOK = 2.0  # seconds between two looks at who is there


def main() -> None:
    """Wait for the end of standard input, then clear up."""
    pid, folder = int(sys.argv[1]), Path(sys.argv[2])
    seen: dict[int, psutil.Process] = {}
    while True:
        ended, _, _ = select.select([sys.stdin], [], [], _LOOK)
        _look(pid, seen)
        if ended and not sys.stdin.buffer.read(1):
            break
    for process in list(seen.values()):  # what they have started since
        _look(process.pid, seen)
    for process in seen.values():
        try:
            process.kill()  # psutil knows a process by its start too: never another one of its number
        except psutil.Error:
            continue
    shutil.rmtree(folder, ignore_errors=True)


def _look(pid: int, seen: dict[int, psutil.Process]) -> None:
    """Add the descendants that `pid` has now, but for this process itself."""
    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return
    own = psutil.Process().pid
    seen.update((process.pid, process) for process in found if process.pid != own)


if __name__ == "__main__":
    main()
