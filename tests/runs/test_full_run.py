"""Runs over the model's own weights: started from one another, forked, evaluated, rebuilt."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.backends.registry import make_backend
from esagent.config.export import as_yaml, read_config
from esagent.config.names import MODULES
from esagent.config.schema import Config, Positions, SpaceConfig
from esagent.eval import Options, evaluate_run
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.runs.parent import parent_problems
from esagent.runs.states import find_state
from esagent.train import resume, train
from tests.helpers.trained import tiny_config

FULL = SpaceConfig("full", "all", [], positions=Positions.all, partition="whole", exclude=["norm"])
SPACES = {"full": FULL, "lowrank": replace(FULL, name="lowrank", rank=2, exclude=[])}


@pytest.fixture(scope="module", params=SPACES.values(), ids=SPACES)
def config(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Config:
    config = tiny_config(tmp_path_factory.mktemp("run"), "llama", request.param)
    config.sigma = replace(config.sigma, start=0.05)
    return config


@pytest.fixture(scope="module")
def parent(config: Config) -> RunDirectory:
    return RunDirectory(Path(train(config, json_mode=True)["run"]))


def digests(run: RunDirectory) -> list[str]:
    start = json.loads(run.manifest.read_text())["initial_digest"]
    return [start, *(record["digest"] for record in read_journal(run.journal))]


def rewards(run: RunDirectory, step: int) -> list[float]:
    (row,) = (r for r in read_rows(run.metrics) if (r["kind"], r["step"]) == ("evaluation", step))
    return row["rewards"]


def test_every_state_can_be_rebuilt_with_and_without_snapshots(parent: RunDirectory, tmp_path: Path) -> None:
    copy = RunDirectory(Path(shutil.copytree(parent.path, tmp_path / "copy")))
    for path in copy.snapshots.glob("step-00000[12].*"):
        path.unlink()
    for run in (parent, copy):
        backend = make_backend(read_config(run.config), MODULES["modular"])
        for step in (2, 0, 1):
            assert find_state(run, str(step)).bring(backend) == digests(parent)[step]
    assert len(set(digests(parent))) == 3


def test_the_journal_says_how_well_the_weights_followed(parent: RunDirectory) -> None:
    for row in (r for r in read_rows(parent.metrics) if r["kind"] == "step"):
        assert row["cosine"] == pytest.approx(1.0, abs=1e-4)
        assert row["unmoved"] < 0.01


def test_a_child_starts_from_its_parents_weights(parent: RunDirectory, config: Config, tmp_path: Path) -> None:
    settings = replace(config, init=str(parent.path), init_state="last", runs_dir=str(tmp_path))
    child = RunDirectory(Path(train(settings, json_mode=True)["run"]))
    assert digests(child)[0] == digests(parent)[2]
    assert rewards(child, 0) == rewards(parent, 2)
    found = digests(child)
    for path in (child.summary, *child.snapshots.glob("step-00000[12].*")):
        path.unlink()
    resume(child.path, json_mode=True)
    assert digests(child) == found


def test_a_fork_takes_its_parents_weights_over(parent: RunDirectory) -> None:
    summary = fork(parent.path, overrides=["budget.steps=3"], json_mode=True)
    found = digests(RunDirectory(Path(summary["run"])))
    assert found[:3] == digests(parent)
    assert len(set(found)) == 4


def test_an_evaluation_finds_what_the_run_reported(parent: RunDirectory) -> None:
    config = read_config(parent.config)
    result = evaluate_run(parent, config, config, Options("pool", "last", k=1), plain=True)
    assert result["digests"] == {"base": digests(parent)[0], "trained": digests(parent)[2]}
    for name, step in (("base", 0), ("trained", 2)):
        assert result["rewards"][name]["greedy"] == rewards(parent, step)


@pytest.mark.parametrize(
    ("there", "here", "says"),
    [
        (FULL, {"precision": "stochastic"}, "space.precision is master there and stochastic here"),
        (FULL, {"scale": "relative"}, "space.scale is absolute there and relative here"),
        (FULL, {"include": ["layers"]}, "space.include is [] there and [layers] here"),
        (FULL, {"exclude": []}, "space.exclude is [norm] there and [] here"),
        (SPACES["lowrank"], {"vectors": "none"}, "space.vectors is dense there and none here"),
        (SPACES["lowrank"], {"rank": 5}, ""),  # of the noise, not of what is moved
    ],
)
def test_another_space_is_refused_by_name(
    parent: RunDirectory,
    tmp_path: Path,
    there: SpaceConfig,
    here: dict[str, Any],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = RunDirectory(Path(shutil.copytree(parent.path, tmp_path / "copy")))
    copy.config.write_text(as_yaml(replace(read_config(parent.config), space=there)))
    monkeypatch.setattr("esagent.runs.states.require_settings", lambda *_: None)  # as if it had been started so
    problems = list(parent_problems(Config(init=str(copy.path), space=replace(there, **here)), 4))
    assert len(problems) == bool(says)
    assert all(says in problem and problem.endswith("the same space is needed") for problem in problems)
