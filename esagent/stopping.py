"""Stopping at a step boundary: Ctrl-C by the user, SIGTERM or SIGUSR2 by a scheduler.

Before there is a run to save (models are loading), a scheduler's signal ends the process at once, with the same code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from esagent.errors import Interrupted, Preempted

SCHEDULER = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGUSR2") if hasattr(signal, name))


class Told(SystemExit):
    """A scheduler's signal, before there is anything to save. No Exception: no import that is under way swallows it."""


class Stop:
    """Remembers the first signal until `check` is called, at a step boundary or where nothing is lost but time.

    advice: how to go on. marker: a file that comes into being when a scheduler's signal arrives. It is there even when
    the process is killed before its step is done, and tells the next `esagent train` of the same settings to go on with
    this run.
    """

    def __init__(self, advice: str, marker: Path | None = None) -> None:
        self.received: int | None = None
        self._advice = advice
        self._marker = marker

    def check(self) -> None:
        """Raise Interrupted (exit 130) or Preempted (exit 75) if a signal came."""
        if self.received == signal.SIGINT:
            raise Interrupted(f"interrupted; {self._advice}")
        if self.received is not None:
            raise Preempted(f"stopped by {signal.Signals(self.received).name}; {self._advice}")

    def between_rounds(self, done: int, episodes: int) -> None:
        """`check`, for the rounds of an evaluation: it is given up, unless all of its episodes are done."""
        if done < episodes:
            self.check()

    def _receive(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and self.received == signal.SIGINT:
            # Not an Exception on purpose: nothing that guards an episode may swallow it.
            raise KeyboardInterrupt
        self.received = number
        if number in SCHEDULER and self._marker is not None:
            with contextlib.suppress(OSError):  # a full disk must not turn a stop into a crash
                self._marker.touch()
        # os.write, for a print here could meet another one half done.
        os.write(2, b"esagent: stopping when this step is done (Ctrl-C again stops at once)\n")


@contextmanager
def stopping(advice: str, marker: Path | None = None) -> Iterator[Stop]:
    """Catch the signals for the body. A second Ctrl-C raises KeyboardInterrupt at once.

    advice, marker: as in Stop; a marker of an earlier time is taken away, for the run goes on now.

    Outside the main thread no handler can be set; then signals act as they always did.
    """
    stop = Stop(advice, marker)
    if marker is not None:
        marker.unlink(missing_ok=True)
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop._receive) for number in (signal.SIGINT, *SCHEDULER)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_when_told() -> None:
    """From now on a scheduler's signal ends this process at once with exit code 75; `stopping` takes over from it.

    It is for the time in which nothing can be lost yet. Outside the main thread it does nothing.
    """
    if threading.current_thread() is threading.main_thread():
        for number in SCHEDULER:
            signal.signal(number, _leave)


def _leave(number: int, _: FrameType | None) -> None:
    os.write(2, f"esagent: stopped by {signal.Signals(number).name}; the same command starts again\n".encode())
    raise Told(Preempted.exit_code)
