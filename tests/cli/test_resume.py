"""`esagent resume` as a user meets it: refusals are lines on standard error, exit 1 or 2, and the run is as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from esagent.train import train
from tests.cli.conftest import Run
from tests.helpers.vector import vector_config, vector_parts


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    config = vector_config(tmp_path / "runs", steps=2)
    train(config, build=vector_parts)
    return list_runs(config.runs_dir)[0]


def test_changed_settings_are_refused_with_their_difference(esagent: Run, run: RunDirectory) -> None:
    run.config.write_text(run.config.read_text().replace("seed: 1", "seed: 7"))
    done = esagent("resume", "latest", "budget.steps=9")
    assert (done.returncode, done.stdout) == (2, "")
    first, *differences = done.stderr.splitlines()
    assert first.startswith(f"esagent: the settings of runs/vector/{run.id} are not those it was started with")
    assert f"esagent resume runs/vector/{run.id} --fork" in first
    assert differences == ["esagent: budget.steps was 2, is 9", "esagent: seed was 1, is 7"]


@pytest.mark.parametrize(
    ("damage", "code", "says"),
    [
        (lambda run: run.journal.write_text("{}\n{}\n"), 1, "journal.jsonl, line 1 of 2"),
        (lambda run: run.manifest.unlink(), 1, "manifest.json is missing"),
        (lambda run: run.config.write_text("seed: ["), 2, "config.yaml is damaged"),
        (lambda run: run.config.unlink(), 2, "does not exist"),
    ],
)
def test_damage_is_one_line(esagent: Run, run: RunDirectory, damage, code: int, says: str) -> None:
    damage(run)
    done = esagent("resume", run.id)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
