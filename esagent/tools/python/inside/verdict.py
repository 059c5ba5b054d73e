"""How the end of a program is told, alike for every sandbox: its exit statuses, its last line, its reply."""

from __future__ import annotations

import errno
from typing import Any

LONGEST_LINE = 300
"""Longest error line, in characters."""

STATUS = {"": 0, "error": 70, "memory": 71, "refused": 72, "processes": 73}
"""Exit status with which a program's process tells how it ended. A program may exit with any of them by itself, and
then only lies about its own failure."""

READY = b"+"
"""What a program's process sends before it runs anything: without it, not the program failed but the sandbox."""

_REFUSED = {errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.ENOSYS}


def reason_of(error: BaseException) -> str:
    """The reason for which a program that raised `error` failed."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, BlockingIOError) or (isinstance(error, RuntimeError) and "start new thread" in str(error)):
        return "processes"
    if isinstance(error, OSError) and error.errno in _REFUSED:
        return "refused"
    return "error"


def error_line(kind: str, message: str, line: int | None) -> str:
    """`ValueError: what (line 3)`, in one line."""
    text = " ".join(message[: 4 * LONGEST_LINE].split())
    where = "" if line is None else f" (line {line})"
    text = f"{kind}: {text}" if text else kind
    return (text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 3] + "...") + where


def limit_line(reason: str, limits: dict[str, Any]) -> str:
    """The last line of a program that was stopped at a limit."""
    return {
        "time": f"stopped: it ran for more than {limits['seconds']:g} s",
        "memory": f"stopped: it used more than {limits['memory_mb']} MB of memory",
        "output": f"stopped: it printed more than {limits['output_chars']} characters",
        "processes": f"stopped: it had more than {limits['processes']} processes",
    }[reason]


def reply(printed: str, reason: str, line: str, limits: dict[str, Any]) -> dict[str, Any]:
    """What a sandbox answers: `Outcome` as JSON. `line` is appended to what was printed, unless it is empty."""
    output = printed[: limits["output_chars"]]
    if line:
        output += ("\n" if output and not output.endswith("\n") else "") + line
    return {"ok": not reason, "output": output, "reason": reason}
