"""The sweep's own process: keeps the launcher's process, shows what the jobs say, and stops all of them as one.

The launcher runs in a session of its own, so that Ctrl-C on the terminal reaches this process alone, whatever processes
the launcher starts; from here it goes to every job once, through the sweep's folder. When this process dies, the end of
a pipe tells the launcher to do the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

import psutil

from esagent.stopping import SCHEDULER
from esagent.sweep.folder import SweepFolder
from esagent.sweep.follow import Follower

_POLL = 0.2  # seconds
_QUIET = 10  # polls without a job, in which their supervisors note how they ended


def host(folder: SweepFolder, command: Sequence[str], labels: Mapping[int, str]) -> tuple[int, int | None]:
    """Run the launcher `command` to its end. labels: what each job is called on the screen, by index.

    Returns (its exit code, the first signal that this process got meanwhile).
    """
    follower = Follower({folder.log(index): label for index, label in labels.items()}, sys.stderr)
    with _forwarding(folder) as received:
        launcher = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sys.stderr,  # standard output is for data; launchers print what they like
            start_new_session=True,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},  # of libraries, in processes that are none of ours
        )
        with launcher:
            code = _wait(launcher, follower)
            if code != 0:
                _clear(folder, launcher.pid, follower)
        follower.show()
    return code, received[0] if received else None


def _wait(launcher: subprocess.Popen[bytes], follower: Follower) -> int:
    while True:
        follower.show()
        try:
            return launcher.wait(_POLL)
        except subprocess.TimeoutExpired:
            continue


def _clear(folder: SweepFolder, session: int, follower: Follower) -> None:
    """Leave no process behind a broken launcher: jobs stop at their next step, then workers without one are killed."""
    folder.request_stop(signal.SIGTERM)
    job = json.loads(folder.plan.read_text())["command"]
    quiet = 0
    while quiet < _QUIET:
        follower.show()
        time.sleep(_POLL)
        quiet = 0 if any(command[: len(job)] == job for command in _commands(session).values()) else quiet + 1
    for process in _commands(session):
        with contextlib.suppress(psutil.Error):
            process.kill()


def _commands(session: int) -> dict[psutil.Process, list[str]]:
    """The processes of a session that still work, with their command lines."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found[process] = process.cmdline()
    return found


@contextmanager
def _forwarding(folder: SweepFolder) -> Iterator[list[int]]:
    """Pass signals on to the jobs; yields those received so far."""
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        received.append(number)
        folder.request_stop(number)
        # os.write, for a print here could meet another one half done.
        os.write(2, b"esagent: stopping the jobs when their steps are done (Ctrl-C again stops them at once)\n")

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, *SCHEDULER)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
