"""`esagent sweep` on a tiny model: what is done stays done, what stopped goes on, failures are named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from esagent.cli.errors import guarded
from esagent.cli.sweep import end
from esagent.config.schema import Config
from esagent.runs.journal import read_journal
from esagent.sweep.jobs import Outcome, make_jobs
from tests.cli.conftest import Run
from tests.helpers.guarded import UNLEARNED
from tests.helpers.tiny import make_tiny_folder

Start = Callable[..., subprocess.Popen[str]]

TINY = [
    *("model=./tiny", "algorithm.directions=2", "budget.tasks_per_step=2", "space.layers=last:2", "agent.max_turns=2"),
    *("budget.evaluate_every=0", "task.pool=2", "task.validation=0", "task.heldout=2", "name=study"),
    "allocation=joint",
    f"guards={UNLEARNED.value}",
]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_tiny_folder(tmp_path / "tiny", layers=2)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["seed=0,1", "+y=1"], 2, "+ ++ and ~"),
        (["experiment=choice"], 2, "did you mean choices?"),
        (["hydra.sweeper.params={seed: '0,1'}"], 2, "write the values themselves, as in seed=0,1,2"),
        (["++hydra.sweeper.params.seed=0,1"], 2, "write the values themselves, as in seed=0,1,2"),
        (["hydra/launcher=joblb"], 2, "did you mean joblib?"),
        (["hydra/launcher=joblib", "hydra.launcher.n_jbs=2"], 2, "n_jbs"),
        (["hydra.launcher._target_=hydra_plugins.hydra_absent.Launcher"], 3, "hydra-absent is not installed"),
    ],
)
def test_bad_usage(arguments: list[str], code: int, says: str, esagent: Run, tmp_path: Path) -> None:
    done = esagent("sweep", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_dry_run_lists_arms_and_seeds_and_writes_nothing(esagent: Run, tmp_path: Path) -> None:
    done = esagent("sweep", "experiment=choices", "seed=0,1", "space.positions=all", "--dry-run", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    jobs = found["jobs"]
    arms = ["algorithm.normalise=block", "algorithm.normalise=total"]
    assert [(job["arm"], job["seed"]) for job in jobs] == [(arm, seed) for arm in arms for seed in (0, 1)]
    assert {job["config"]["space"]["positions"] for job in jobs} == {"all"}
    assert {job["state"] for job in jobs} == {"to do"}
    assert [(arm["arm"], arm["seeds"], arm["left"]) for arm in found["arms"]] == [(arm, [0, 1], 2) for arm in arms]
    assert found["total"]["tokens"] == sum(job["plan"]["tokens"] for job in jobs)
    assert (found["paired"], found["notes"]) == (True, [])
    assert "2 arms on 2 seeds, paired" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_dry_run_is_a_row_per_arm_and_no_configuration(esagent: Run, tmp_path: Path) -> None:
    done = esagent("sweep", "space=core", "space.rank=4,8", "seed=0,1,2", "--dry-run")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["arm", "seeds", "to", "do", "episodes", "tokens", "FLOP", "memory", "time", "disk"]
    rows = [line.split() for line in lines if line.startswith(("space.rank", "total"))]
    assert [row[:3] for row in rows] == [["space.rank=4", "3", "3"], ["space.rank=8", "3", "3"], ["total", "3", "6"]]
    assert int(rows[2][3].replace(",", "")) == sum(int(row[3].replace(",", "")) for row in rows[:2])
    assert lines[-1] == "All about one job: esagent train --dry-run space=core space.rank=4 seed=0"
    assert len(lines) < 10, "the composed configuration of each job is for train --dry-run to tell"
    assert list(tmp_path.iterdir()) == []


def test_broken_pairing_is_told(esagent: Run) -> None:
    done = esagent("sweep", "task.level=easy,medium", "seed=0", "budget.task_sampling=uniform", "--dry-run")
    assert done.returncode == 0
    assert done.stderr == "esagent: not paired: arms differ in task.level, so they do not share tasks\n"
    assert "\ntask.level=medium " in done.stdout


def test_failing_jobs_finished_jobs_and_unfinished_ones(esagent: Run, tiny: Path, tmp_path: Path) -> None:
    arms = [*TINY, "budget.steps=1", "agent.target=nowhere:Agent,null"]
    first = esagent("sweep", *arms, "seed=0", "--json")
    assert first.returncode == 1, first.stderr
    failed, done = json.loads(first.stdout)["jobs"]
    assert (failed["state"], failed["exit_code"], failed["run"]) == ("failed", 2, None)
    assert (done["state"], done["exit_code"]) == ("done", 0)
    assert done["summary"] == json.loads((tmp_path / done["run"] / "summary.json").read_text())
    assert done["pool_gain"] == done["summary"]["pool"]["gain"]
    (told,) = (line for line in first.stderr.splitlines() if "failed with exit code 2" in line)
    assert told.startswith("esagent: agent.target=nowhere:Agent seed=0 failed")
    assert told.endswith(f"log: {failed['log']}")
    assert "nowhere" in (tmp_path / failed["log"]).read_text()
    assert "agent.target=null seed=0: [" in first.stderr, "progress of the jobs is shown"

    good = [*TINY, "budget.steps=1", "seed=0"]
    before = sorted((tmp_path / "runs").rglob("*"))
    second = esagent("sweep", *good, "--json")
    assert second.returncode == 0, second.stderr
    (job,) = json.loads(second.stdout)["jobs"]
    assert (job["state"], job["run"], job["log"]) == ("done before", done["run"], None)
    assert sorted((tmp_path / "runs").rglob("*")) == before

    (tmp_path / done["run"] / "summary.json").unlink()
    third = esagent("train", "-m", *good, "--json")
    assert third.returncode == 0, third.stderr
    (job,) = json.loads(third.stdout)["jobs"]
    assert (job["state"], job["run"]) == ("done", done["run"])
    assert job["summary"]["digest"] == done["summary"]["digest"]
    assert "esagent.cli.job resume" in (tmp_path / job["log"]).read_text()


ENDS = [
    # states, exit code of the launcher, signal; exit code and the last line
    (["done", "failed"], 0, None, 1, "1 of 2 jobs failed"),
    (["failed", "stopped"], 0, signal.SIGUSR2, 75, "stopped by SIGUSR2; 0 of 2 jobs are done; the same command"),
    (["done", "stopped"], 0, signal.SIGINT, 130, "interrupted; 1 of 2 jobs are done; the same command"),
    (["done", "stopped"], 0, None, 75, "jobs were stopped; 1 of 2 jobs are done; the same command"),
    (["done", "not started"], 3, None, 1, "the launcher ended with exit code 3; 1 of 2 jobs are done; the same"),
]


def two(states: list[str]) -> list[Outcome]:
    jobs = make_jobs([["seed=0"], ["seed=1"]], [Config(seed=0), Config(seed=1)])
    return [Outcome(job, state) for job, state in zip(jobs, states, strict=True)]


@pytest.mark.parametrize(("states", "code", "received", "exit_code", "says"), ENDS)
def test_how_a_sweep_ends(
    states: list[str], code: int, received: int | None, exit_code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught, guarded():
        end(two(states), code, received)
    assert caught.value.exit_code == exit_code
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith(f"esagent: {says}")
    assert len(told) == 1 + states.count("failed")


def test_a_signal_that_came_too_late_to_stop_anything_changes_nothing() -> None:
    end(two(["done", "done before"]), 0, signal.SIGTERM)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command line in an empty folder; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "esagent", *arguments],
            cwd=tmp_path,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def steps_done(tmp_path: Path) -> int:
    journals = list((tmp_path / "runs" / "study").glob("*/journal.jsonl"))
    assert len(journals) <= 1, "the run was started anew instead of gone on with"
    return len(read_journal(journals[0])) if journals else 0


def stop_after_a_step(process: subprocess.Popen[str], tmp_path: Path, number: int) -> str:
    """Send the signal when the run has made a step more; returns what was told."""
    begun, deadline = steps_done(tmp_path), time.monotonic() + 90
    while steps_done(tmp_path) == begun:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    return process.communicate(timeout=60)[1]


@pytest.mark.kill
def test_a_stopped_sweep_ends_with_75_and_its_jobs_are_saved(start: Start, tiny: Path, tmp_path: Path) -> None:
    settings = [*TINY, "budget.steps=5000"]
    process = start("sweep", *settings, "seed=0,1")
    told = stop_after_a_step(process, tmp_path, signal.SIGTERM)
    assert process.returncode == 75, told
    assert "stopped by SIGTERM; 0 of 2 jobs are done; the same command goes on" in told
    assert "stopped" in told
    assert "not started" in told
    (run,) = (tmp_path / "runs" / "study").iterdir()
    assert (run / "preempted").exists()


@pytest.mark.kill
def test_a_run_that_a_scheduler_stopped_goes_on_when_its_command_is_given_again(
    start: Start, tiny: Path, tmp_path: Path
) -> None:
    command = ["train", *TINY, "budget.steps=5000"]
    process = start(*command)
    told = stop_after_a_step(process, tmp_path, signal.SIGUSR2)
    assert process.returncode == 75, told
    (run,) = (tmp_path / "runs" / "study").iterdir()
    process = start(*command)
    told = stop_after_a_step(process, tmp_path, signal.SIGINT)
    assert process.returncode == 130, told
    assert f"going on with {run.relative_to(tmp_path)}, which a scheduler stopped" in told
    assert not (run / "preempted").exists()
