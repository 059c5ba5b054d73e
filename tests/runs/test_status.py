"""Finished, running, interrupted or failed, told from files alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from esagent.runs.directory import RunDirectory
from esagent.runs.lock import locked
from esagent.runs.status import status


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    (tmp_path / "config.yaml").write_text("seed: 0\n")
    return RunDirectory(tmp_path)


def holder(run: RunDirectory, text: str) -> None:
    run.lock.with_suffix(".holder").write_text(text)


def test_a_run_that_nobody_works_on_was_interrupted(run: RunDirectory) -> None:
    assert status(run) == ("interrupted", "")
    holder(run, "nonsense")
    assert status(run) == ("interrupted", "")


def test_a_run_at_work_is_seen_and_not_disturbed(run: RunDirectory) -> None:
    with locked(run):
        assert status(run) == ("running", f"by process {os.getpid()}")
    assert status(run) == ("interrupted", "")


def test_a_holder_that_died_is_not_at_work(run: RunDirectory) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    holder(run, f"process {child.pid} on {socket.gethostname()}\n")
    assert status(run)[0] == "interrupted"


def test_a_number_that_another_process_has_by_now_is_not_the_holder(run: RunDirectory) -> None:
    holder(run, f"process {os.getpid()} on {socket.gethostname()}\n")
    os.utime(run.lock.with_suffix(".holder"), (1.0, 1.0))  # long before this process began
    assert status(run)[0] == "interrupted"


def test_a_holder_on_another_machine_is_believed(run: RunDirectory) -> None:
    holder(run, "process 7 on elsewhere\n")
    assert status(run) == ("running", "by process 7 on elsewhere, as far as can be seen from here")


def test_the_newest_thing_decides_between_failed_and_interrupted(run: RunDirectory) -> None:
    run.error_log.write_text("Traceback\n  ...\nZeroDivisionError: by zero\n\n")
    assert status(run) == ("failed", "ZeroDivisionError: by zero")
    run.journal.write_text("{}\n")
    os.utime(run.error_log, (1.0, 1.0))  # a resumed run got further since
    assert status(run) == ("interrupted", "")


def test_a_summary_makes_it_finished(run: RunDirectory) -> None:
    run.error_log.write_text("old\n")
    run.summary.write_text("{}")
    assert status(run) == ("finished", "")
