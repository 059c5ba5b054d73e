"""Noticing that the process one works for is gone, in whatever way: the pipe that it holds ends."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def when_input_ends(action: Callable[[], None]) -> None:
    """Call `action` from a thread of its own when standard input, to which nobody writes, comes to its end."""
    threading.Thread(target=_wait, args=(sys.stdin.fileno(), action), daemon=True).start()


def _wait(descriptor: int, action: Callable[[], None]) -> None:
    while os.read(descriptor, 4096):
        pass
    action()
