"""`resume --fork`: a new run goes on from another one's state with other settings; the other one stays as it is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Config
from esagent.errors import ConfigError, RunError
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.vector import vector_config, vector_parts

STEPS = 4


@pytest.fixture
def parent(tmp_path: Path) -> tuple[Config, RunDirectory]:
    config = vector_config(tmp_path / "runs", steps=STEPS)
    train(config, build=vector_parts)
    return config, list_runs(config.runs_dir)[0]


def files(run: RunDirectory) -> dict[str, bytes]:
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def forked(run: RunDirectory, *overrides: str) -> tuple[RunDirectory, dict[str, Any]]:
    before = files(run)
    summary = fork(run.path, overrides=overrides, build=vector_parts)
    assert files(run) == before
    return RunDirectory(Path(summary["run"])), summary


def body(record: dict[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in ("digest", "rewards", "update", "population", "tasks", "credit")}


def evaluations(run: RunDirectory) -> dict[tuple[int, str], list[float]]:
    rows = [row for row in read_rows(run.metrics) if row["kind"] == "evaluation"]
    return {(row["step"], row["split"]): row["rewards"] for row in rows}


def test_a_longer_run_from_where_the_parent_ended(parent: tuple[Config, RunDirectory]) -> None:
    _, old = parent
    new, summary = forked(old, "budget.steps=7")
    theirs, ours = read_journal(old.journal), read_journal(new.journal)
    assert new.path.parent == old.path.parent
    assert (summary["steps"], len(ours)) == (7, 7)
    assert [body(record) for record in ours[:STEPS]] == [body(record) for record in theirs]
    assert len({record["digest"] for record in ours}) == 7
    # alpha falls from 0.8 to 0.2 over the steps of the run: the new steps follow the new plan
    assert ours[5]["update"]["step_size"]["finder"] == pytest.approx(0.4 * (0.8 - 0.6 * 5 / 6))
    origin = json.loads(new.manifest.read_text())["forked_from"]
    assert origin["run"] == f"{old.name}/{old.id}"
    assert (origin["steps"], origin["changed"]) == (STEPS, ["budget.steps was 4, is 7"])
    assert {key: evaluations(new)[key] for key in evaluations(old)} == evaluations(old)
    assert resume(new.path, build=vector_parts) == json.loads(new.summary.read_text())


def test_a_fork_begins_with_nothing_to_mend(
    parent: tuple[Config, RunDirectory], caplog: pytest.LogCaptureFixture
) -> None:
    _, old = parent
    new, _ = forked(old, "budget.steps=5")
    assert caplog.text == ""
    rows = [[r for r in read_rows(run.metrics) if r["kind"] == "step"] for run in (old, new)]
    assert rows[1][:STEPS] == rows[0]


def test_a_parent_that_was_copied_elsewhere_is_forked_into_runs_dir(
    parent: tuple[Config, RunDirectory], tmp_path: Path
) -> None:
    config, old = parent
    copy = RunDirectory(Path(shutil.copytree(old.path, tmp_path / "elsewhere" / "copy")))
    new, _ = forked(copy, "budget.steps=5")
    assert new.path.parent == Path(config.runs_dir) / config.name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "runs"]


def test_a_fork_is_a_run_like_any_other(parent: tuple[Config, RunDirectory]) -> None:
    """Without snapshots it is rebuilt from its own journal; its episodes are its own; it can be forked again."""
    _, old = parent
    new, summary = forked(old, "budget.steps=6")
    for path in (*new.snapshots.iterdir(), new.summary):
        path.unlink()
    again = resume(new.path, build=vector_parts)
    assert [again[key] for key in ("digest", "pool", "heldout")] == [summary[k] for k in ("digest", "pool", "heldout")]
    assert {path.name for path in old.episodes.iterdir()} <= {path.name for path in new.episodes.iterdir()}
    newer, _ = forked(new, "budget.steps=8", "sigma.start=0.2")
    assert [body(r) for r in read_journal(newer.journal)[:6]] == [body(r) for r in read_journal(new.journal)]


def test_the_edited_config_of_a_stopped_run(parent: tuple[Config, RunDirectory]) -> None:
    _, old = parent
    old.summary.unlink()
    text = old.config.read_text()
    old.config.write_text(text.replace("tasks_per_step: 12", "tasks_per_step: 6").replace("steps: 4", "steps: 6"))
    with pytest.raises(ConfigError) as caught:
        resume(old.path, build=vector_parts)
    assert caught.value.problems[1:] == ("budget.steps was 4, is 6", "budget.tasks_per_step was 12, is 6")
    assert "--fork" in caught.value.problems[0]
    new, _ = forked(old)
    assert [len(record["tasks"]) for record in read_journal(new.journal)] == [12] * 4 + [6] * 2
    old.config.write_text(text)
    assert resume(old.path, build=vector_parts)["steps"] == STEPS


def test_other_tasks_are_evaluated_anew_on_every_state(parent: tuple[Config, RunDirectory]) -> None:
    _, old = parent
    new, _ = forked(old, "task.heldout=24", "budget.steps=5")
    assert len(evaluations(new)[0, "heldout"]) == 24
    assert {key for key in evaluations(new) if key[1] == "pool"} == {(0, "pool"), (4, "pool"), (5, "pool")}
    assert evaluations(new)[0, "pool"] == evaluations(old)[0, "pool"]


def test_a_new_name_moves_it(parent: tuple[Config, RunDirectory], tmp_path: Path) -> None:
    _, old = parent
    new, _ = forked(old, "budget.steps=5", "name=longer", f"runs_dir={tmp_path / 'elsewhere'}")
    assert new.path.parent == tmp_path / "elsewhere" / "longer"


def test_settings_that_are_the_same_are_no_change(parent: tuple[Config, RunDirectory]) -> None:
    _, old = parent
    assert resume(old.path, overrides=["budget.steps=4", "seed=1"], build=vector_parts)["steps"] == STEPS


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ([], "no setting was changed"),
        (["budget.steps=4"], "no setting was changed"),
        (["budget.steps=3"], "the parent has done 4 already; 4 or more"),
        (["space.layers=last:4"], "space.layers was .*: a fork keeps its parent's model, space and start"),
        (["model.dtype=float32"], "model.dtype was .*: a fork keeps"),
        (["budget.stepz=9"], "budget.stepz: no such key; did you mean budget.steps?"),
        (["budget.steps=many"], "budget.steps=many"),
        (["budget.steps=-1"], "budget.steps=-1"),
        (["budget=quick"], "budget=quick: a run that exists takes single settings"),
        (["hydra.verbose=true"], "none of Hydra's own settings"),
        (["nonsense"], "nonsense"),
    ],
)
def test_what_is_refused_leaves_no_new_run(
    parent: tuple[Config, RunDirectory], overrides: list[str], says: str
) -> None:
    config, old = parent
    with pytest.raises(ConfigError, match=says):
        fork(old.path, overrides=overrides, build=vector_parts)
    assert len(list_runs(config.runs_dir)) == 1


def test_a_damaged_parent_leaves_no_new_run(parent: tuple[Config, RunDirectory]) -> None:
    config, old = parent
    lines = old.journal.read_bytes().splitlines(keepends=True)
    old.journal.write_bytes(b"".join([lines[0], lines[1].replace(b"digest", b"digesd"), *lines[2:]]))
    with pytest.raises(RunError, match="line 2 of 4"):
        fork(old.path, overrides=["budget.steps=6"], build=vector_parts)
    assert list(Path(config.runs_dir, config.name).iterdir()) == [old.path]


def test_a_parent_that_replays_otherwise_leaves_no_new_run(parent: tuple[Config, RunDirectory]) -> None:
    config, old = parent

    def build(config: Config) -> Any:
        parts = vector_parts(config)
        apply = parts.backend.apply
        parts.backend.apply = lambda update: apply(replace(update, normalise="none"))  # type: ignore[method-assign]
        return parts

    for path in old.snapshots.iterdir():
        path.unlink()
    with pytest.raises(RunError, match="replaying step 0 gave digest"):
        fork(old.path, overrides=["budget.steps=6"], build=build)
    assert list(Path(config.runs_dir, config.name).iterdir()) == [old.path]
