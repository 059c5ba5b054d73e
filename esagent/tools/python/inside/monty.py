"""Runs programs in Monty, an interpreter without a file system, a network or processes, in a subprocess of this one.

Monty has limits of its own. Around them are a time after which its subprocess is killed, and an address space that
neither process can exceed.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from typing import Any, Literal

import pydantic_monty

from .bounds import held_address_space
from .frames import receive, send
from .lastline import split
from .verdict import error_line, limit_line, reply

_GRACE = 0.2
"""Seconds past the limit after which Monty's subprocess is killed."""

_ROOM = 256 << 20
"""Address space of either process beyond the memory of a program, in bytes."""

_LONGEST_FILE = 1 << 20

_SHOW = "__show__ = lambda value, print=print, repr=repr: None if value is None else print(repr(value))"


def main(limits: dict[str, Any]) -> None:
    """Answer the caller, who is connected to standard input, until it closes the connection."""
    control = socket.socket(fileno=os.dup(0))
    sys.stderr = os.fdopen(os.dup(2), "w")  # for errors of this process; Monty's own go nowhere
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 2)
    _limit_resources(limits)
    seconds = float(limits["seconds"])
    pool = pydantic_monty.Monty(
        max_processes=1,
        request_timeout=seconds + _GRACE,
        feed_duration_limit_grace=_GRACE,
    )
    with pool:
        send(control, {"ready": []})
        while (request := receive(control)) is not None:
            send(control, run(pool, request["code"], limits))


def run(pool: pydantic_monty.Monty, code: str, limits: dict[str, Any]) -> dict[str, Any]:
    """The reply for one program."""
    printed: list[str] = []
    count, worker = 0, None

    def take(stream: Literal["stdout", "stderr"], text: str) -> None:
        nonlocal count
        if count > limits["output_chars"]:
            return
        printed.append(text)
        count += len(text)
        if count > limits["output_chars"] and worker:
            os.kill(worker, signal.SIGKILL)  # Monty itself would let it print until its time is over

    reason, line = "", ""
    bounds: pydantic_monty.ResourceLimits = {
        "max_feed_duration_secs": float(limits["seconds"]),
        "max_total_sleep_secs": float(limits["seconds"]),
        "max_memory": limits["memory_mb"] << 20,
    }
    try:
        with pool.checkout(limits=bounds, os_policy={"random_start": {"seed": 0}}) as session:
            session.feed_run(_SHOW)
            worker = session.worker_pid
            session.feed_run(_shown(code), print_callback=take)
    except pydantic_monty.MontyCrashedError as error:
        reason, line = ("time", "") if error.timed_out else ("killed", "the interpreter crashed")
    except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyRuntimeError) as error:
        reason, line = _ending(error)
    if count > limits["output_chars"]:
        reason, line = "output", ""
    if reason and not line:
        line = limit_line(reason, limits)
    return reply("".join(printed), reason, line, limits)


def _shown(code: str) -> str:
    """`code` that shows the value of its last line itself, so that no value ever crosses to this process."""
    parts = split(code)
    if parts is None:
        return f"{code}\nNone"  # Monty's own parser says what is wrong, or knows newer syntax
    before, last = parts
    return f"{before}__show__(({last}))" if last else f"{before}\nNone"


def _ending(error: pydantic_monty.MontySyntaxError | pydantic_monty.MontyRuntimeError) -> tuple[str, str]:
    """Reason and error line; no line when a limit was hit."""
    kind = type(error.exception()).__name__
    message = error.display("msg")
    frames = error.traceback()
    line = error_line(kind, message, frames[-1].line if frames else None)
    if kind == "SystemExit":
        return ("", "") if message in ("", "None", "0") else ("error", line)
    if kind == "TimeoutError" and "limit exceeded" in message:
        return "time", ""
    if kind == "MemoryError":
        return "memory", ""
    return ("refused" if kind == "PermissionError" else "error"), line


def _limit_resources(limits: dict[str, Any]) -> None:
    """Limits of this process and of Monty's, which inherits them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LONGEST_FILE, _LONGEST_FILE))
    if held := held_address_space():
        most = held + (limits["memory_mb"] << 20) + _ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
