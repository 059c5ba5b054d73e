"""Jobs, their pairing, and what the disk says became of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from esagent.config.change import changed
from esagent.config.compose import compose
from esagent.config.export import to_dict
from esagent.config.schema import Config
from esagent.runs.matching import Match
from esagent.sweep.folder import SweepFolder
from esagent.sweep.jobs import Job, look_up, make_jobs, outcomes, pairing


def jobs_of(*settings: str) -> list[Job]:
    overrides = [text.split() for text in settings]
    return make_jobs(overrides, [compose([*items, "budget.task_sampling=uniform"]) for items in overrides])


def run_of(job: Job, runs: Path, number: int = 0, *, finished: bool = True) -> Path:
    path = runs / "default" / f"2026010{number}-000000-s{job.config.seed}"
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(OmegaConf.to_yaml(to_dict(job.config)))
    if finished:
        (path / "summary.json").write_text(json.dumps({"seconds": 7.5, "pool": {"gain": 0.25}}))
    return path


def test_arms_seeds_and_repeated_combinations() -> None:
    jobs = jobs_of("space=bias seed=0", "space=core seed=0", "space=bias seed=0", "space=core seed=1 name=default")
    assert [job.label for job in jobs] == ["space.name=bias seed=0", "space.name=core seed=0", "space.name=core seed=1"]
    assert [job.index for job in jobs] == [0, 1, 2]
    assert pairing(jobs) == ["not paired: space.name=bias lacks seed 1"]
    assert pairing(jobs[:2]) == []


def test_jobs_are_told_the_start_of_their_configuration() -> None:
    """`init=latest` would be the job before, once there is one."""
    config = Config(init="/runs/it's here/a", init_state="8")
    (job,) = make_jobs([["init=latest", "init_state=best", "seed=0"]], [config])
    assert changed({"init": None, "init_state": "best", "seed": 5}, job.overrides) == {
        "init": config.init,
        "init_state": 8,
        "seed": 0,
    }


def test_what_breaks_pairing_is_told() -> None:
    (problem,) = pairing(jobs_of("task.level=easy", "task.level=medium"))
    assert "task.level" in problem


@pytest.fixture
def six(tmp_path: Path) -> list[Job]:
    return jobs_of(*(f"seed={seed} runs_dir={tmp_path}" for seed in range(6)))


def test_every_state(six: list[Job], tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path / "sweep")
    folder.path.mkdir()
    run_of(six[0], tmp_path)
    before = look_up(six)
    done = run_of(six[1], tmp_path)
    stopped = run_of(six[2], tmp_path, finished=False)
    for job, code in ((six[1], 0), (six[2], 75), (six[3], 1), (six[4], 0)):
        folder.log(job.index).write_text("esagent: because\n")
        folder.write_outcome(job.index, code, 3.0)
    found = outcomes(six, before, folder)
    assert [o.state for o in found] == ["done before", "done", "stopped", "failed", "failed", "not started"]
    assert [o.seconds for o in found] == [7.5, 7.5, 3.0, 3.0, 3.0, None]
    assert (found[1].run, found[2].run, found[3].run) == (done, stopped, None)
    assert (found[0].log, found[3].log) == (None, folder.log(3))
    assert found[1].to_dict()["pool_gain"] == 0.25
    assert found[1].to_dict()["heldout_gain"] is None
    assert json.dumps([o.to_dict() for o in found])


def test_killed_by_the_stop_is_stopped_and_by_anything_else_failed(six: list[Job], tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path / "sweep")
    folder.path.mkdir()
    folder.request_stop(15)
    for job, code in ((six[0], -15), (six[1], -9)):
        folder.log(job.index).touch()
        folder.write_outcome(job.index, code, 1.0)
    folder.log(2).touch()  # its supervisor died with the launcher
    assert [o.state for o in outcomes(six[:3], {}, folder)] == ["stopped", "failed", "stopped"]


def test_a_finished_run_counts_before_an_unfinished_one(six: list[Job], tmp_path: Path) -> None:
    finished = run_of(six[0], tmp_path, 1)
    run_of(six[0], tmp_path, 2, finished=False)
    assert look_up(six)[six[0].key].run.path == finished
    assert isinstance(look_up(six)[six[0].key], Match)
    assert six[1].key not in look_up(six)
