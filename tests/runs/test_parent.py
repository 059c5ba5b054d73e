"""`init=RUN`: a run that starts from a state of another, and can be resumed with or without it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from esagent.config.export import job_key, read_config
from esagent.config.schema import Config, Positions, Rule, SpaceConfig
from esagent.errors import ConfigError, RunError
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import step_file
from esagent.runs.journal import read_journal
from esagent.runs.jsonio import canonical
from esagent.runs.matching import find_runs, folder_of
from esagent.runs.metrics import read_rows
from esagent.runs.parent import parent_problems, pinned
from esagent.runs.snapshots import list_snapshots
from esagent.runs.states import find_state
from esagent.train import resume, train
from tests.helpers.vector import VectorBackend, vector_config, vector_parts


def run_of(config: Config) -> RunDirectory:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return RunDirectory(path)


def states(run: RunDirectory) -> list[str]:
    return [record["digest"] for record in read_journal(run.journal)]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A finished run with momentum, so that its states hold an optimiser's memory as well."""
    config = vector_config(tmp_path_factory.mktemp("parent"))
    config.algorithm = replace(config.algorithm, rule=Rule.momentum, momentum=0.5)
    train(config, build=vector_parts)
    return run_of(config)


def child_config(parent: RunDirectory, folder: Path, **changes: object) -> Config:
    config = vector_config(folder, steps=4)
    config.algorithm = replace(config.algorithm, rule=Rule.momentum, momentum=0.5)
    return replace(config, init=str(parent.path), **changes)


@pytest.fixture(scope="module")
def child(parent: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    config = child_config(parent, tmp_path_factory.mktemp("child"))
    train(config, build=vector_parts)
    return run_of(config)


def at(run: RunDirectory, step: int) -> VectorBackend:
    backend = VectorBackend()
    find_state(run, str(step)).bring(backend)
    return backend


def test_the_base_of_the_child_is_the_chosen_state_of_the_parent(parent: RunDirectory, child: RunDirectory) -> None:
    before, after = (json.loads(run.summary.read_text()) for run in (parent, child))
    assert after["init"] == {"run": str(parent.path), "state": before["selected_step"]}
    for split in ("pool", "heldout"):
        assert after[split]["base"] == before[split]["trained"] > before[split]["base"]
    last = at(parent, before["selected_step"])
    for name, theta in at(child, 0).centre.items():
        assert torch.equal(theta, last.centre[name])


def test_the_optimiser_starts_anew(parent: RunDirectory, child: RunDirectory) -> None:
    assert any(at(parent, 8)._state.values())
    assert not any(at(child, 0)._state.values())
    assert at(child, 0)._updates == 0


def test_config_and_manifest_name_the_state_without_doubt(parent: RunDirectory, child: RunDirectory) -> None:
    chosen = json.loads(parent.summary.read_text())["selected_step"]
    config = read_config(child.config)
    assert (config.init, config.init_state) == (str(parent.path), str(chosen))
    manifest = json.loads(child.manifest.read_text())
    digest = at(parent, chosen).digest()
    assert manifest["init"] == {"run": str(parent.path), "state": chosen, "digest": digest}
    assert json.loads(parent.manifest.read_text())["init"] is None


@pytest.mark.parametrize("state", ["0", "5", "last"])
def test_any_state_can_be_the_start(parent: RunDirectory, tmp_path: Path, state: str) -> None:
    config = child_config(parent, tmp_path, init_state=state)
    config.budget = replace(config.budget, steps=1)
    train(config, build=vector_parts)
    wanted = at(parent, 8 if state == "last" else int(state))
    assert all(torch.equal(theta, wanted.centre[name]) for name, theta in at(run_of(config), 0).centre.items())


@pytest.fixture(scope="module")
def orphan(parent: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A finished run like the child, whose parent is gone."""
    folder = tmp_path_factory.mktemp("orphan")
    gone = RunDirectory(folder / "gone")
    shutil.copytree(parent.path, gone.path)
    config = child_config(gone, folder)
    train(config, build=vector_parts)
    shutil.rmtree(gone.path)
    return run_of(config)


def stopped(child: RunDirectory, folder: Path, steps: int) -> RunDirectory:
    """The child as a kill after `steps` steps would have left it."""
    copy = RunDirectory(folder / "child")
    shutil.copytree(child.path, copy.path)
    copy.summary.unlink()
    copy.journal.write_text("".join(copy.journal.read_text().splitlines(keepends=True)[:steps]))
    rows = [row for row in read_rows(copy.metrics) if row["step"] < steps + (row["kind"] == "evaluation")]
    copy.metrics.write_text("".join(canonical(row) + "\n" for row in rows))
    for step in range(steps, 4):
        step_file(copy.episodes, step).unlink()
    for snapshot in list_snapshots(copy.snapshots):
        if snapshot.step > steps:
            snapshot.path.unlink()
            snapshot.path.with_suffix(".json").unlink()
    return copy


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_it_resumes_to_the_same_states_without_its_parent(
    orphan: RunDirectory, child: RunDirectory, tmp_path: Path, steps: int
) -> None:
    copy = stopped(orphan, tmp_path, steps)
    resume(copy.path, build=vector_parts)
    assert states(copy) == states(child)


def without_snapshots(child: RunDirectory, folder: Path, steps: int) -> RunDirectory:
    copy = stopped(child, folder, steps)
    shutil.rmtree(copy.snapshots)
    copy.snapshots.mkdir()
    return copy


@pytest.mark.parametrize("steps", [0, 2])
def test_without_any_snapshot_the_parent_is_asked_again(child: RunDirectory, tmp_path: Path, steps: int) -> None:
    copy = without_snapshots(child, tmp_path, steps)
    resume(copy.path, build=vector_parts)
    assert states(copy) == states(child)


def test_without_any_snapshot_and_without_its_parent_it_is_refused(orphan: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        resume(without_snapshots(orphan, tmp_path, 2).path, build=vector_parts)


def test_a_parent_that_became_another_is_noticed(parent: RunDirectory, tmp_path: Path) -> None:
    place = RunDirectory(tmp_path / "place")
    shutil.copytree(parent.path, place.path)
    config = child_config(place, tmp_path / "runs", init_state="last")
    train(config, build=vector_parts)
    other = replace(vector_config(tmp_path / "other"), seed=2)
    train(other, build=vector_parts)
    shutil.rmtree(place.path)
    shutil.copytree(run_of(other).path, place.path)
    with pytest.raises(RunError, match=r"the run began from digest .* no sound snapshot of the start"):
        resume(without_snapshots(run_of(config), tmp_path, 0).path, build=vector_parts)


def test_a_fork_keeps_the_start_and_needs_no_parent(orphan: RunDirectory, tmp_path: Path) -> None:
    summary = fork(orphan.path, overrides=["budget.steps=5", f"runs_dir={tmp_path}"], build=vector_parts)
    forked = RunDirectory(Path(summary["run"]))
    before, after = (json.loads(run.manifest.read_text()) for run in (orphan, forked))
    assert after["init"] == before["init"]
    assert after["init"]["run"] == json.loads(orphan.summary.read_text())["init"]["run"]
    assert after["initial_digest"] == before["initial_digest"]
    assert states(forked)[:4] == states(orphan)
    assert len(states(forked)) == 5
    with pytest.raises(ConfigError, match=r"init_state was .*: a fork keeps"):
        fork(orphan.path, overrides=["init_state=1", f"runs_dir={tmp_path}"], build=vector_parts)


def test_a_configuration_is_pinned_as_its_run_keeps_it(parent: RunDirectory, child: RunDirectory) -> None:
    config = child_config(parent, Path(read_config(child.config).runs_dir))
    assert pinned(config) == pinned(pinned(config)) == read_config(child.config) != config
    assert pinned(vector_config(child.path)) == vector_config(child.path)
    assert find_runs(folder_of(config))[job_key(pinned(config))].run == child


def test_other_weights_are_refused_and_nothing_is_written(parent: RunDirectory, tmp_path: Path) -> None:
    def other(config: Config):
        parts = vector_parts(config)
        return replace(parts, facts=replace(parts.facts, model_hash="another"))

    with pytest.raises(ConfigError, match="other weights"):
        train(child_config(parent, tmp_path / "runs"), build=other)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("change", "part"),
    [({"rank": 2}, "space.rank is 8 there and 2 here"), ({"sigma_a": 0.5}, "space.sigma_a is 0.0 there and 0.5 here")],
)
def test_an_adapter_of_another_shape_is_refused(
    parent: RunDirectory, tmp_path: Path, change: dict, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A that was frozen there is no part of its states; one that moved there cannot be taken for the frozen one."""
    copy = RunDirectory(tmp_path / "adapters")
    shutil.copytree(parent.path, copy.path)
    copy.config.write_text(copy.config.read_text().replace("name: bias", "name: lora"))
    here = replace(SpaceConfig(), name="lora", sigma_b=3.0)

    monkeypatch.setattr("esagent.runs.states.require_settings", lambda *_: None)  # as if it had been started so
    assert list(parent_problems(Config(init=str(copy.path), space=here), 30)) == []
    (problem,) = parent_problems(Config(init=str(copy.path), space=replace(here, **change)), 30)
    assert part in problem


def test_other_modules_are_refused_and_nothing_is_written(parent: RunDirectory, tmp_path: Path) -> None:
    def other(config: Config):
        return replace(vector_parts(config), backend=VectorBackend(("finder", "reader")))

    with pytest.raises(ConfigError, match="no parameters of reader"):
        train(child_config(parent, tmp_path / "runs"), build=other)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("space", "parts"),
    [
        ({"name": "core"}, ["space.name is bias there and core here"]),
        ({"positions": Positions.all}, ["space.positions is answer there and all here"]),
        ({"sites": ["o_proj"]}, ["space.sites is [down_proj] there and [o_proj] here"]),
        ({"modules": ["finder"]}, ["space.modules is [] there and [finder] here"]),
        ({"layers": "last:4", "name": "core"}, ["space.name", "space.layers is 18-29 there and last:4 here"]),
        ({"layers": "last:12"}, []),
        ({"rank": 4}, []),  # of no account to vectors
    ],
)
def test_another_space_is_refused_by_name(parent: RunDirectory, space: dict, parts: list[str]) -> None:
    config = Config(init=str(parent.path), space=replace(SpaceConfig(), **space))
    problems = list(parent_problems(config, 30))
    assert len(problems) == len(parts)
    for problem, part in zip(problems, parts, strict=True):
        assert part in problem


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"init": "nowhere"}, "init=nowhere: run 'nowhere' does not exist"),
        ({"init": None, "init_state": "3"}, "init_state=3: is a state of another run"),
        ({"init_state": "9"}, "has done 8 updates; choose 0 to 8"),
        ({"init_state": "-1"}, "must be best, last, or a number"),
        ({"init_state": "bset"}, "must be best, last, or a number"),
    ],
)
def test_a_start_that_is_none_is_refused(parent: RunDirectory, tmp_path: Path, change: dict, part: str) -> None:
    config = replace(Config(init=str(parent.path), runs_dir=str(tmp_path)), **change)
    (problem,) = parent_problems(config, 30)
    assert part in problem


@pytest.mark.parametrize("name", ["config", "manifest", "summary"])
@pytest.mark.parametrize("content", [None, "", "{", "[1]", "a: [", "\x00"])
def test_a_parent_that_cannot_be_read_is_named(
    parent: RunDirectory, tmp_path: Path, name: str, content: str | None
) -> None:
    copy = RunDirectory(tmp_path / "copy")
    shutil.copytree(parent.path, copy.path)
    damaged: Path = getattr(copy, name)
    damaged.unlink()
    if content is not None:
        damaged.write_text(content)
    (problem,) = parent_problems(Config(init=str(copy.path)), 30)
    assert "\n" not in problem
    assert str(copy.path) in problem


def test_a_run_that_has_not_finished_has_no_best_state(child: RunDirectory, tmp_path: Path) -> None:
    copy = stopped(child, tmp_path, 2)
    with pytest.raises(ConfigError, match=r"has not finished.*esagent resume"):
        find_state(copy, "best")
    assert find_state(copy, "last").step == 2
