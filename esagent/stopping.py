"""Stopping at a step boundary: Ctrl-C by the user, SIGTERM or SIGUSR2 by a scheduler."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from esagent.errors import Interrupted, Preempted

_SCHEDULER = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGUSR2") if hasattr(signal, name))


class Stop:
    """Remembers the first signal until `check` is called at a step boundary."""

    def __init__(self) -> None:
        self.received: int | None = None

    def check(self, advice: str) -> None:
        """Raise Interrupted (exit 130) or Preempted (exit 75) if a signal came; `advice` says how to go on."""
        if self.received == signal.SIGINT:
            raise Interrupted(f"interrupted; {advice}")
        if self.received is not None:
            raise Preempted(f"stopped by {signal.Signals(self.received).name}; {advice}")

    def _receive(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and self.received == signal.SIGINT:
            # Not an Exception on purpose: nothing that guards an episode may swallow it.
            raise KeyboardInterrupt
        self.received = number
        # os.write, for a print here could meet another one half done.
        os.write(2, b"esagent: stopping when this step is done (Ctrl-C again stops at once)\n")


@contextmanager
def stopping() -> Iterator[Stop]:
    """Catch the signals for the body. A second Ctrl-C raises KeyboardInterrupt at once.

    Outside the main thread no handler can be set; then signals act as they always did.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop._receive) for number in (signal.SIGINT, *_SCHEDULER)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
