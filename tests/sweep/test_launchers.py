"""Every launcher with real processes: all jobs run and end as one, devices go round, no process outlives the sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from esagent.config.export import job_key
from esagent.config.schema import Config
from esagent.sweep.folder import SweepFolder

ROOT = Path(__file__).parents[2]
LAUNCHERS = {
    "basic": [],
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": ["hydra.launcher.timeout_min=2"],
}


class Sweep:
    """A sweep over tests.sweep.program in a folder of its own."""

    def __init__(
        self, path: Path, launcher: str, behaviour: str, jobs: int, devices: list[str], name: str = "sweep"
    ) -> None:
        self.here = path
        self.folder = SweepFolder(path / name)
        self.folder.path.mkdir()
        (path / "behaviour").write_text(behaviour)
        listed = [
            {
                "index": index + 3,  # as when the first three were done before
                "hydra": [f"seed={index}"],
                "overrides": [f"seed={index}"],
                "folder": str(path / "runs" / "study"),
                "key": job_key(Config(seed=index)),
                "devices": devices,
            }
            for index in range(jobs)
        ]
        plan = {
            "command": [sys.executable, "-m", "tests.sweep.program"],
            "config_dir": None,
            "options": [],
            "base": [f"hydra/launcher={launcher}", *LAUNCHERS[launcher]],
            "devices": devices,
            "jobs": listed,
        }
        self.folder.plan.write_text(json.dumps(plan))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.sweep.driver", str(self.folder.path)],
            cwd=ROOT,
            env=os.environ | {"PROGRAM_FOLDER": str(path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def started(self, count: int = 1) -> list[int]:
        """Wait until so many jobs are at work; their process ids."""
        deadline = time.monotonic() + 60
        while len(found := [p for p in self.here.glob("seed=*.pid") if p.read_text()]) < count:
            assert time.monotonic() < deadline, "no job was started"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)
        return [int(path.read_text()) for path in found]

    def ended(self) -> tuple[dict, str]:
        """What the driver printed, and what it told."""
        output, told = self.process.communicate(timeout=60)
        return json.loads(output), told

    def everything(self) -> set[int]:
        """Ids of all processes that work for this sweep."""
        found = set()
        for process in psutil.process_iter(["environ", "status"]):
            environment = process.info["environ"] or {}
            if environment.get("PROGRAM_FOLDER") == str(self.here) and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
        return found

    def gone(self) -> bool:
        """Wait until no process works for this sweep any more."""
        deadline = time.monotonic() + 20
        while self.everything():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[Callable[..., Sweep]]:
    made: list[Sweep] = []

    def make(
        launcher: str, behaviour: str, jobs: int = 2, devices: list[str] | None = None, name: str = "sweep"
    ) -> Sweep:
        made.append(Sweep(tmp_path, launcher, behaviour, jobs, devices or [], name))
        return made[-1]

    yield make
    for one in made:
        for pid in one.everything():
            os.kill(pid, signal.SIGKILL)
        one.process.communicate()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_job_is_done_on_a_device_of_its_own(launcher: str, sweep, tmp_path: Path) -> None:
    made = sweep(launcher, "quick", 3, ["4", "GPU-5"])
    result, told = made.ended()
    assert result == {"code": 0, "received": None}
    outcomes = [made.folder.outcome(index) for index in (3, 4, 5)]
    assert [outcome and outcome["exit_code"] for outcome in outcomes] == [0, 0, 0]
    assert made.folder.outcome(0) is None
    devices = {(tmp_path / f"seed={seed}.device").read_text() for seed in range(3)}
    assert devices == ({"4"} if launcher == "basic" else {"4", "GPU-5"})
    assert "job 3: [started] seed=0" in told
    assert "no interest" not in told
    assert "something of no interest" in made.folder.log(3).read_text()
    assert made.gone()


def test_a_job_that_fails_stops_no_other(sweep) -> None:
    made = sweep("basic", "fail", 2)
    result, told = made.ended()
    assert result["code"] == 0
    assert [made.folder.outcome(index)["exit_code"] for index in (3, 4)] == [1, 1]
    assert "job 4: esagent: it broke" in told


@pytest.mark.kill
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_signal_ends_all_jobs_at_their_step_boundary(launcher: str, sweep) -> None:
    """Two devices for three jobs: one is waiting for its turn, and never begins."""
    made = sweep(launcher, "wait", 3, ["0", "1"])
    at_work = 1 if launcher == "basic" else 2
    made.started(at_work)
    made.process.send_signal(signal.SIGUSR2)
    result, _ = made.ended()
    assert result == {"code": 0, "received": signal.SIGUSR2}
    codes = [outcome["exit_code"] for index in (3, 4, 5) if (outcome := made.folder.outcome(index))]
    assert codes == [75] * at_work
    assert sum("stopped" in made.folder.log(i).read_text() for i in (3, 4, 5) if made.folder.log(i).exists()) == at_work
    assert made.gone()


@pytest.mark.kill
def test_the_terminals_ctrl_c_reaches_each_job_once_and_a_second_one_again(sweep) -> None:
    made = sweep("basic", "deaf", 1)
    (job,) = made.started()
    assert os.getsid(job) != os.getsid(made.process.pid), "the terminal would interrupt the job as well"
    made.process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    assert made.process.poll() is None
    made.process.send_signal(signal.SIGINT)
    result, told = made.ended()
    assert result["received"] == signal.SIGINT
    assert made.folder.outcome(3)["exit_code"] == 130
    assert f"[stopped] by [{signal.SIGINT.value}, {signal.SIGINT.value}]" in told
    assert told.count("Ctrl-C again") == 2


@pytest.mark.kill
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("victim", ["sweep", "launcher"])
def test_no_job_outlives_a_killed_sweep_or_launcher(launcher: str, victim: str, sweep) -> None:
    made = sweep(launcher, "wait", 2)
    at_work = 1 if launcher == "basic" else 2  # which of two begins first is the launcher's affair
    made.started(at_work)
    if victim == "sweep":
        made.process.kill()
        made.process.communicate()
    else:
        (host,) = psutil.Process(made.process.pid).children()
        host.kill()
        result, _ = made.ended()
        assert result == {"code": -signal.SIGKILL, "received": None}
    assert made.gone()
    # The jobs ended at their step boundary, not by a kill.
    for index in range(3, 3 + at_work):
        assert "[stopped]" in made.folder.log(index).read_text()


@pytest.mark.kill
def test_sweeps_at_the_same_time_do_no_job_twice(sweep, tmp_path: Path) -> None:
    """One was killed in the middle of a job and left its lock's file; two more begin together."""
    lost = sweep("basic", "deaf", 1, name="lost")
    (pid,) = lost.started()
    lost.process.kill()
    for process in lost.everything():
        os.kill(process, signal.SIGKILL)
    assert lost.gone()
    assert pid
    both = [sweep("basic", "run", 2, name=name) for name in ("first", "second")]
    for made in both:
        result, told = made.ended()
        assert result == {"code": 0, "received": None}, told
        assert [(made.folder.outcome(index) or {}).get("exit_code") for index in (3, 4)] == [0, 0]
    runs = sorted((tmp_path / "runs" / "study").iterdir())
    assert sorted((run / "config.yaml").read_text() for run in runs) == ["seed: 0\n", "seed: 1\n"]
    logs = [path.read_text() for made in both for path in sorted(made.folder.path.glob("job-*.log"))]
    assert sum("another sweep is at work on this job" in log for log in logs) >= 1
    assert sum("[started]" in log for log in logs) == 2


def test_a_sweep_that_waits_for_another_one_is_stopped_like_any(sweep, tmp_path: Path) -> None:
    working = sweep("basic", "deaf", 1, name="working")
    working.started()
    waiting = sweep("basic", "run", 1, name="waiting")
    deadline = time.monotonic() + 60
    while not waiting.folder.log(3).exists():
        assert time.monotonic() < deadline, "it does not come to its job"
        time.sleep(0.05)
    waiting.process.send_signal(signal.SIGTERM)
    result, _ = waiting.ended()
    assert result == {"code": 0, "received": signal.SIGTERM}
    assert waiting.folder.outcome(3) is None
    assert len(working.everything()) > 1, "the other one goes on"
