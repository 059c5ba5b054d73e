"""Whether two answers are equal by algebra, asked of math-verify in a process of its own.

math-verify guards itself with signal.alarm, which works in a main thread alone and cannot interrupt sympy's inner loops
everywhere. So it runs without that guard in a side process, which is killed, with all it started, when an answer takes
too long, and started anew for the next one. A comparison that was killed says nothing about the answer: it raises
`CheckerError`, which a rollout counts as a failure of the harness.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from esagent.core.noise import key

WORKER = Path(__file__).with_name("worker.py")

_START_SECONDS = 60.0
"""Longest start of the side process: it loads sympy, which takes seconds on a busy machine."""

_KEPT = 4096
"""Comparisons whose result is kept: members often write the same answer."""


class CheckerError(Exception):
    """The comparison could not be made; it says nothing about the answer."""


class Checker:
    """Compares answers in a side process, which starts with the first comparison and ends with this object.

    seconds: longest comparison, of wall-clock time.
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self.seconds = seconds
        self._known: dict[int, bool] = {}
        self._worker: subprocess.Popen[bytes] | None = None
        self._ends: weakref.finalize | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"seconds": self.seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def equal(self, given: str, gold: str) -> bool:
        """Whether math-verify holds `given` for the same as `gold`, both LaTeX or plain expressions of one line.

        Raises CheckerError when the side process does not start, dies, raises, or takes longer than `seconds`.
        """
        asked = key("equal answers", given, gold)
        if asked not in self._known:
            answer, error = self._ask([given, gold])
            if error:
                raise CheckerError(f"math-verify: {error}")
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[asked] = answer
        return self._known[asked]

    def close(self) -> None:
        """End the side process, if one runs."""
        if self._ends:
            self._ends()
        self._worker = self._ends = None

    def _ask(self, question: list[str]) -> Any:
        worker = self._running()
        try:
            assert worker.stdin is not None
            worker.stdin.write(json.dumps(question).encode() + b"\n")
            worker.stdin.flush()
            return _line(worker, self.seconds)
        except (OSError, CheckerError) as error:
            self.close()
            raise CheckerError(f"math-verify: {error}") from error

    def _running(self) -> subprocess.Popen[bytes]:
        if self._worker is None or self._worker.poll() is not None:
            self.close()
            # Its own process group, to be killed whole. -P: no folder of this project shadows a library's module.
            worker = subprocess.Popen(
                [sys.executable, "-P", str(WORKER), str(2 * self.seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._worker, self._ends = worker, weakref.finalize(self, _kill, worker)
            try:
                _line(worker, _START_SECONDS)
            except CheckerError as error:
                self.close()
                raise CheckerError(f"math-verify does not start: {error}") from error
        return self._worker


def _line(worker: subprocess.Popen[bytes], seconds: float) -> Any:
    """The next JSON line of a process. Raises CheckerError when it ends first or needs longer than `seconds`."""
    assert worker.stdout is not None
    pipe, text, end = worker.stdout.fileno(), b"", time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while not text.endswith(b"\n"):
            if not waiting.select(max(0.0, end - time.monotonic())):
                raise CheckerError(f"no result within {seconds:g} s")
            part = os.read(pipe, 65536)
            if not part:
                raise CheckerError(f"its process ended (exit code {worker.wait(seconds)})")
            text += part
    return json.loads(text)


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """End a process and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
