"""The zygote: a Python that forks once per program, watches it, and says how it ended.

It alone holds the connection to the caller; what a program prints goes through a pipe that the zygote reads, so nothing
printed can be taken for a reply.
"""

from __future__ import annotations

import codecs
import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from . import program
from .bounds import Bounds, Unjailed, held_address_space, limit_resources
from .frames import receive, send
from .jail import Jail
from .verdict import READY, STATUS, limit_line, reply

PRELOADED = (
    *("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools"),
    *("json", "math", "operator", "random", "re", "statistics", "string", "typing"),
)

_TICK = 0.01
"""Seconds between two looks at what a program uses."""

_REASONS = {status: reason for reason, status in STATUS.items()}


def main(limits: dict[str, Any], packages: list[str], jailed: bool) -> None:
    """Answer the caller, who is connected to standard input, until it closes the connection.

    packages: loaded beside `PRELOADED`, where they are installed.
    """
    control = socket.socket(fileno=os.dup(0))
    loaded = []
    for name in (*PRELOADED, *packages):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
            loaded.append(name)
    if sympy := sys.modules.get("sympy"):
        _use(sympy)
    address_space = held_address_space()
    bounds: Bounds = Jail(limits) if jailed else Unjailed()
    zygote = Zygote(bounds, limits, control, address_space)
    gc.collect()
    gc.freeze()
    try:
        send(control, {"ready": loaded})
        while (request := receive(control)) is not None:
            try:
                answer = zygote.run(request["code"])
            except OSError as error:  # no process, no memory: not the program's doing
                answer = {"failed": f"{type(error).__name__}: {error}"}
            if answer is None:
                break
            send(control, answer)
    finally:
        bounds.close()


def _use(sympy: Any) -> None:
    """Make sympy load its solvers and fill its caches once, and not in every program."""
    x = sympy.symbols("x")
    sympy.solve(x**2 - 1, x)
    sympy.integrate(x**2, x)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2)


class Zygote:
    """Forks, watches and buries one program after the other. address_space: bytes that the zygote itself holds."""

    def __init__(self, bounds: Bounds, limits: dict[str, Any], control: socket.socket, address_space: int) -> None:
        self.bounds = bounds
        self.limits = limits
        self.control = control
        self.address_space = address_space

    def run(self, code: str) -> dict[str, Any] | None:
        """The reply for one program, or None when the caller is gone."""
        deadline = time.monotonic() + self.limits["seconds"]
        self.bounds.before_fork()
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(code, output_end, errors_end)
        os.close(output_end)
        os.close(errors_end)
        os.set_blocking(output, False)
        os.set_blocking(errors, False)
        try:
            printed = Printed(output, self.limits["output_chars"])
            status, reason = self._watch(pid, printed, deadline)
            if status is None:
                os.kill(pid, signal.SIGKILL)
                status = os.waitpid(pid, 0)[1]
            self.bounds.kill(pid)
            printed.read()
            told = _read(errors) or b""
        finally:
            os.close(output)
            os.close(errors)
        if reason == "gone":
            return None
        if not told.startswith(READY):
            return {"failed": f"a program's process could not be set up: {printed.text[:300] or f'status {status}'}"}
        if printed.over:
            reason = "output"
        if reason:
            return reply(printed.text, reason, limit_line(reason, self.limits), self.limits)
        reason, line = _ending(os.waitstatus_to_exitcode(status), told[len(READY) :].decode(errors="replace"))
        return reply(printed.text, reason, line, self.limits)

    def _become(self, code: str, output: int, errors: int) -> None:
        """The child: lose every tie to the zygote, be confined, run the program. Never returns."""
        try:
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(errors, 3)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            self.bounds.confine()
            os.closerange(4, 1024)
            os.chdir(self.bounds.scratch)
            limit_resources(self.limits, self.address_space, getattr(self.bounds, "processes", None))
            for name in ("random", "numpy.random"):
                if module := sys.modules.get(name):
                    module.seed(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode(errors="replace"))
            os._exit(STATUS["error"])
        program.run(code, 3)

    def _watch(self, pid: int, printed: Printed, deadline: float) -> tuple[int | None, str]:
        """Wait for its end or a limit: its wait status, or None and the reason to kill it ("gone": no caller)."""
        pause, look = _TICK, time.monotonic() + _TICK
        while (now := time.monotonic()) < deadline:
            caller = self.control.fileno()
            waiting = [caller] if printed.ended else [caller, printed.pipe]
            ready = select.select(waiting, [], [], min(pause, deadline - now))[0]
            if caller in ready:
                return None, "gone"  # the caller sends nothing while it waits
            if printed.pipe in ready:
                printed.read()
                if printed.over:
                    return None, "output"
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status, ""
            if printed.ended:  # it is about to end, or closed its output: look at short, then longer intervals
                pause = min(_TICK, 2 * pause) if pause < _TICK else 1e-4
            if time.monotonic() >= look:
                look = time.monotonic() + _TICK
                processes, memory = self.bounds.used()
                if processes > self.limits["processes"]:
                    return None, "processes"
                if memory > self.limits["memory_mb"] << 20:
                    return None, "memory"
        return None, "time"


class Printed:
    """What comes through a pipe, as text of at most `most` characters and one."""

    def __init__(self, pipe: int, most: int) -> None:
        self.pipe = pipe
        self.most = most
        self.text = ""
        self.ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def over(self) -> bool:
        """Whether there was more than `most` characters."""
        return len(self.text) > self.most

    def read(self) -> None:
        """Take what is there, without waiting."""
        while not (self.over or self.ended):
            data = _read(self.pipe)
            if data is None:
                return
            self.ended = not data
            self.text += self._decoder.decode(data, final=self.ended)


def _read(pipe: int) -> bytes | None:
    """Bytes from a pipe: empty at its end, None when there are none yet."""
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return None


def _ending(status: int, line: str) -> tuple[str, str]:
    """Reason and error line of a program whose first process ended by itself."""
    if status < 0:
        reason = "time" if status == -signal.SIGXCPU else "killed"
        return reason, f"killed by {signal.Signals(-status).name}"
    if status == 0:
        return "", ""
    return _REASONS.get(status, "error"), line or f"exit status {status}"
