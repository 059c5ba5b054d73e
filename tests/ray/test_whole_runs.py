"""The command itself on real workers: the driver is killed, or all of its workers are, and a resume ends the run.

Each run has a cluster of its own, which must be gone without a trace however the run ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("ray", reason="backend=ray needs Ray")

from esagent.config.compose import compose
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.train import train

pytestmark = pytest.mark.engine

SETTINGS = ["task=synthetic", "budget.steps=60", "budget.evaluate_every=30", "budget.snapshot_every=8", "seed=4"]
POOL = ["backend=ray", "backend.inner=synthetic", "backend.workers=2"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Digests of the same run in one process."""
    runs = tmp_path_factory.mktemp("undisturbed")
    summary = train(compose([*SETTINGS, f"runs_dir={runs}"]), json_mode=True)
    return digests(Path(summary["run"]))


def digests(run: Path) -> list[str]:
    return [record["digest"] for record in read_journal(RunDirectory(run).journal)]


class Command:
    """`esagent` in a process of its own in `folder`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "esagent", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def after(self, steps: int) -> list[psutil.Process]:
        """Wait until so many steps are done; all processes that the command has started."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            journals = list(self.folder.glob("runs/*/*/journal.jsonl"))
            if journals and journals[0].read_bytes().count(b"\n") >= steps:
                return psutil.Process(self.process.pid).children(recursive=True)
            assert self.process.poll() is None, self.end()
            time.sleep(0.02)
        raise AssertionError("no step within two minutes")

    def folders(self) -> list[Path]:
        """Temporary ones that its cluster has."""
        return [
            path
            for root in {tempfile.gettempdir(), "/tmp"}
            for path in Path(root).glob(f"esagent-ray-{self.process.pid}-*")
        ]

    def end(self) -> tuple[int, str, str]:
        """Exit code and both streams."""
        out, err = self.process.communicate(timeout=200)
        return self.process.returncode, out, err


def soon(true: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.1)
    return true()


def running(processes: list[psutil.Process]) -> list[str]:
    found = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline())[:100])
        except psutil.Error:
            continue
    return found


def shared_memory() -> set[str]:
    """That of object stores; others may be using theirs."""
    return {name for name in os.listdir("/dev/shm") if "plasma" in name or "ray" in name}


@pytest.fixture
def folder() -> Iterator[Path]:
    """One of a short name, for so must be those of sockets in it."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as made:
        yield Path(made)


def resumed(folder: Path) -> Path:
    """Go on with the only run in `folder`, to its end."""
    code, out, err = Command(folder, "resume", "latest", "--json").end()
    assert code == 0, err
    return folder / json.loads(out)["run"]


def test_a_driver_that_is_killed_leaves_nothing_and_goes_on(folder: Path, undisturbed: list[str]) -> None:
    before = shared_memory()
    command = Command(folder, "train", *SETTINGS, *POOL, "--json")
    started = command.after(steps=10)
    assert command.folders()
    assert sum("ray::" in name for name in running(started)) >= 2
    os.kill(command.process.pid, signal.SIGKILL)
    assert command.end()[0] == -signal.SIGKILL
    assert soon(lambda: not running(started)), running(started)
    assert shared_memory() == before
    assert soon(lambda: not command.folders())
    assert digests(resumed(folder)) == undisturbed
    assert shared_memory() == before


def test_all_workers_killed_ends_the_run_with_one_line_and_a_resume_goes_on(
    folder: Path, undisturbed: list[str]
) -> None:
    command = Command(folder, "train", *SETTINGS, *POOL, "--json")
    started = command.after(steps=10)
    for process in started:
        if "ray::Worker" in " ".join(process.cmdline()):
            process.kill()
    code, out, err = command.end()
    assert code == 1
    assert out == ""
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if "no worker is left" in line]
    assert line.startswith("esagent: ")
    assert soon(lambda: not running(started)), running(started)
    assert digests(resumed(folder)) == undisturbed


def test_a_run_leaves_nothing_when_it_ends_and_when_it_is_interrupted(folder: Path, undisturbed: list[str]) -> None:
    command = Command(folder, "train", *SETTINGS, *POOL, "--json")
    started = command.after(steps=10)
    command.process.send_signal(signal.SIGTERM)
    code, _, err = command.end()
    assert code == 75, err
    assert soon(lambda: not running(started)), running(started)
    assert not command.folders()
    code, out, err = Command(folder, "train", *SETTINGS, *POOL, "--json").end()  # the same command goes on
    assert code == 0, err
    assert digests(folder / json.loads(out)["run"]) == undisturbed
    assert json.loads(out)["ledger"]["training"]["message_bytes"] > 0


def test_without_a_cluster_at_the_address_the_command_says_so(folder: Path) -> None:
    code, out, err = Command(folder, "train", *SETTINGS, *POOL, "backend.address=127.0.0.1:1", "--json").end()
    assert (code, out) == (3, "")
    assert err.count("\n") == 1, err
    assert "backend.address=127.0.0.1:1" in err
    assert not (folder / "runs").exists()
