"""Is a run finished, at work, interrupted or failed? Read from its files alone; nothing is locked or changed."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Literal

import psutil

from esagent.runs.directory import RunDirectory

Status = Literal["finished", "running", "interrupted", "failed"]

_HOLDER = re.compile(r"process (\d+) on (\S+)")


def status(run: RunDirectory) -> tuple[Status, str]:
    """The status with a word more about it ("" when there is none).

    running: the holder that run.holder names is alive, or is on another machine, where that cannot be known.
    failed: the newest thing that happened was an error (error.log). What else is not finished was interrupted.
    """
    if run.summary.is_file():
        return "finished", ""
    holder = _holder(run.lock.with_suffix(".holder"))
    if holder:
        return "running", holder
    if run.error_log.is_file() and _changed(run.error_log) >= _changed(run.journal):
        return "failed", _last_line(run.error_log)
    return "interrupted", ""


def _holder(path: Path) -> str:
    """Who works on the run; "" when nobody does. The file outlives a holder that was killed."""
    try:
        found = _HOLDER.match(path.read_text(errors="replace"))
        written = path.stat().st_mtime
    except OSError:
        return ""
    if found is None:
        return ""
    pid, host = int(found[1]), found[2]
    if host != socket.gethostname():
        return f"by process {pid} on {host}, as far as can be seen from here"
    try:
        alive = psutil.Process(pid).create_time() <= written + 1  # a younger process only inherited the number
    except psutil.Error:
        alive = False
    return f"by process {pid}" if alive else ""


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def _last_line(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""
