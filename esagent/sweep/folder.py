"""The folder that the processes of one sweep share: what is to be done, how it ended, and the word to stop.

    sweep.json        the jobs of this call and what they are started with
    job-3.log         everything that job 3 printed
    job-3.json        its exit code and seconds; written last
    stop              one signal number a line: every job at work passes them on
    device-0.lock     held by the job that has the first device

A file and not a pipe or signal carries the word to stop, because launchers put jobs behind processes of their own, or
on other machines that share no more than the disk.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.runs.atomic import write_json


@dataclass(frozen=True)
class SweepFolder:
    """Paths of the folder and its small protocol."""

    path: Path

    @property
    def plan(self) -> Path:
        """The jobs of this call (JSON)."""
        return self.path / "sweep.json"

    def log(self, index: int) -> Path:
        """Standard output and error of a job."""
        return self.path / f"job-{index}.log"

    def device_lock(self, place: int) -> Path:
        """Held while a job has the device at this place of the list."""
        return self.path / f"device-{place}.lock"

    def request_stop(self, number: int) -> None:
        """Ask every job, at work or waiting, to stop as by signal `number`. Safe in a signal handler."""
        descriptor = os.open(self.path / "stop", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(descriptor, b"%d\n" % number)
        os.close(descriptor)

    def stop_requests(self) -> list[int]:
        """The signals asked for so far, in order."""
        try:
            return [int(line) for line in (self.path / "stop").read_text().split()]
        except FileNotFoundError:
            return []

    def write_outcome(self, index: int, exit_code: int, seconds: float) -> None:
        """Note how a job ended: the exit code of its process (negative: killed by that signal) and its wall time."""
        write_json(self.path / f"job-{index}.json", {"exit_code": exit_code, "seconds": seconds})

    def outcome(self, index: int) -> dict[str, Any] | None:
        """{"exit_code", "seconds"} of a job, or None when it did not end or never began."""
        path = self.path / f"job-{index}.json"
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found
