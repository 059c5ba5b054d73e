"""The caller's end of a sandbox: a process that is asked to run programs, killed when it is late, and started anew.

Three limits lie inside each other: the program's own, kept by the process that runs it; `GRACE` later this end kills
that process with everything it started; and a process whose caller is gone ends by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from esagent.tools.python.base import MAX_CODE, Limits, Outcome, SandboxError
from esagent.tools.python.inside import frames, verdict

INSIDE = Path(__file__).parent / "inside"

GRACE = 0.5
"""Seconds after a program's limit at which its sandbox is killed."""

START = 60.0
"""Seconds that a sandbox may take to start."""

_EARLY = 0.4
"""A process that dies within so many seconds is given the program once more, which keeps to the limit + 1 s."""

ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
}
"""All of a sandbox's environment: nothing of the caller's, no keys, and sets in the same order in every process."""


def python_line(call: str, *folders: str) -> list[str]:
    """Arguments of a Python that makes `call` on a module of the package `inside`. `folders` go onto its path."""
    module = call.partition("(")[0].rpartition(".")[0]
    return ["-s", "-P", "-W", "ignore", "-c", f"import sys; sys.path += {list(folders)}; import {module}; {call}"]


def as_json(limits: Limits) -> dict[str, Any]:
    """`limits` as the processes inside read them."""
    return asdict(limits)


class Worker:
    """A `PythonSandbox` in a process of its own. Safe to use from several threads, one program at a time.

    command: gives the process's arguments. Its standard input is a socket to this end; it sends {"ready": ...} once,
    and answers each {"code": ...} with an `Outcome` or {"failed": why}. scratch: whether it gets a folder of this
    machine, its TMPDIR, which is removed with it.
    """

    def __init__(
        self, name: str, command: Callable[[Limits], Sequence[str]], limits: Limits, *, scratch: bool = False
    ) -> None:
        self.name = name
        self.limits = limits
        self._scratch = scratch
        self._folder = ""
        self._command = command
        self._lock = threading.Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._complaints: IO[bytes] | None = None

    def run(self, code: str) -> Outcome:
        """See `PythonSandbox.run`."""
        if len(code) > MAX_CODE:
            line = f"refused: the program is longer than {MAX_CODE} characters"
            return Outcome(False, line, "refused")
        with self._lock:
            start = time.monotonic()
            reply = self._ask(code)
            if reply is None and time.monotonic() - start < _EARLY:
                reply = self._ask(code)
                if reply is None:
                    return Outcome(False, "killed: the program ended the process that ran it", "killed")
            if reply is None:
                raise SandboxError(f"python sandbox {self.name!r}: its process died")
        if "failed" in reply:
            raise SandboxError(f"python sandbox {self.name!r}: {reply['failed']}")
        return Outcome(reply["ok"], reply["output"], reply["reason"])

    def start(self) -> None:
        """Start the process unless it runs. Raises SandboxError with what the process said last."""
        with self._lock:
            self._start()

    def close(self) -> None:
        """See `PythonSandbox.close`."""
        with self._lock:
            self._closed = True
            self._stop(patience=1.0)

    def _start(self) -> socket.socket:
        if self._closed:
            raise SandboxError(f"python sandbox {self.name!r} is closed")
        if self._socket:
            return self._socket
        ours, theirs = socket.socketpair()
        environment = dict(ENVIRONMENT)
        if self._scratch:
            self._folder = environment["HOME"] = environment["TMPDIR"] = tempfile.mkdtemp(prefix="esagent-python-")
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                list(self._command(self.limits)),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._stop()
            raise SandboxError(f"python sandbox {self.name!r} does not start: {error}") from error
        finally:
            theirs.close()
        self._socket = ours
        try:
            ready = frames.receive(ours, time.monotonic() + START)
        except (OSError, ValueError) as error:
            ready, why = None, type(error).__name__
        else:
            why = "it ended at once"
        if ready is None:
            said = self._said()
            self._stop()
            raise SandboxError(f"python sandbox {self.name!r} does not start: {said or why}")
        return ours

    def _ask(self, code: str) -> dict[str, Any] | None:
        """The reply to one program; None when the process died."""
        connection = self._start()
        deadline = time.monotonic() + self.limits.seconds + GRACE
        try:
            connection.settimeout(self.limits.seconds + GRACE)
            frames.send(connection, {"code": code})
            reply = frames.receive(connection, deadline)
        except TimeoutError:
            self._stop()
            limits = as_json(self.limits)
            return verdict.reply("", "time", verdict.limit_line("time", limits), limits)
        except (OSError, ValueError):
            reply = None
        except BaseException:  # a signal's: its answer would be taken for that to the next program
            self._stop()
            raise
        if reply is None:
            self._stop()
        return reply

    def _said(self) -> str:
        """The last line that the process wrote to its standard error."""
        if self._complaints is None:
            return ""
        self._complaints.seek(0)
        lines = self._complaints.read(1 << 16).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _stop(self, patience: float = 0.0) -> None:
        """End the process: by itself, as its caller is gone, within `patience` seconds, else by killing its group."""
        if self._socket:
            self._socket.close()
        if self._process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._complaints:
            self._complaints.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
        self._process = self._socket = self._complaints = None
