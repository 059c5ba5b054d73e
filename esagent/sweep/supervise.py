"""One job at work, wherever the launcher put it: a process of its own, its log, and the word to stop passed on."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from esagent.runs.matching import find_runs
from esagent.sweep.alone import alone
from esagent.sweep.devices import environment, reserve
from esagent.sweep.folder import SweepFolder

_POLL = 0.2  # seconds


def supervise(folder: SweepFolder, place: int) -> None:
    """Do the job at `place` of the folder's plan, and note how it ended.

    A finished run is left alone, an unfinished one resumed, and a job that another sweep is at work on is waited for.
    When the sweep was asked to stop before the job's turn came, nothing is noted.
    """
    plan = json.loads(folder.plan.read_text())
    job = plan["jobs"][place]
    with alone(folder, job) as mine, reserve(folder, job["devices"] if mine else ()) as device:
        if not mine or folder.stop_requests():
            return
        began = time.monotonic()
        match = find_runs(Path(job["folder"])).get(job["key"])
        if match and match.finished:
            code = 0
        else:
            words = ["resume", str(match.run.path)] if match else ["train", *plan["options"], "--", *job["overrides"]]
            code = _run(folder, job["index"], [*plan["command"], *words], environment(device))
        folder.write_outcome(job["index"], code, time.monotonic() - began)


def _run(folder: SweepFolder, index: int, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit code of `command`, negative when a signal killed it."""
    with folder.log(index).open("ab", buffering=0) as log:
        log.write(f"$ {shlex.join(command)}\n".encode())
        process = subprocess.Popen(
            command,
            # Never written to: its end tells the job that nobody supervises it any more.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        with process:
            passed = 0
            while True:
                try:
                    return process.wait(_POLL)
                except subprocess.TimeoutExpired:
                    requests = folder.stop_requests()
                    for number in requests[passed:]:
                        process.send_signal(number)
                    passed = len(requests)
