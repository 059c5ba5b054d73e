"""A run says in its manifest under which study it was started, and never changes its mind."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from esagent.config.schema import Guards
from esagent.errors import ConfigError
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import read_manifest
from esagent.train import resume, train
from tests.helpers.vector import vector_config, vector_parts


def write_study(path: Path, **changes: object) -> str:
    arms = {"short": {"budget.steps": 2}, "long": {"budget.steps": 3}}
    data = {"name": "lengths", "seeds": [1], "baseline": "short", "arms": arms}
    data["hypotheses"] = {"h": {"claim": "better", "arms": "long"}}
    path.write_text(yaml.safe_dump(data | changes, sort_keys=False))
    return str(path)


def test_stamped_before_the_first_step(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.yaml")
    config = replace(vector_config(tmp_path / "runs", steps=2), study=study, guards=Guards.off)
    run = RunDirectory(Path(train(config, json_mode=True, build=vector_parts)["run"]))
    sha256 = hashlib.sha256(Path(study).read_bytes()).hexdigest()
    assert read_manifest(run)["study"] == {"name": "lengths", "file": study, "sha256": sha256}
    write_study(tmp_path / "study.yaml", alpha=0.1)  # changed afterwards: the run stays what it was
    run.summary.unlink()
    resume(run.path, json_mode=True, build=vector_parts)
    assert read_manifest(run)["study"]["sha256"] == sha256
    Path(study).unlink()
    run.summary.unlink()
    resume(run.path, json_mode=True, build=vector_parts)


def test_no_study_no_stamp(tmp_path: Path) -> None:
    run = train(vector_config(tmp_path / "runs", steps=1), json_mode=True, build=vector_parts)["run"]
    assert "study" not in read_manifest(RunDirectory(Path(run)))


def test_a_fork_is_stamped_with_the_file_as_it_is_then(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.yaml")
    config = replace(vector_config(tmp_path / "runs", steps=2), study=study, guards=Guards.off)
    run = train(config, json_mode=True, build=vector_parts)["run"]
    write_study(tmp_path / "study.yaml", alpha=0.1)
    forked = fork(Path(run), overrides=["budget.steps=3"], json_mode=True, build=vector_parts)["run"]
    manifest = read_manifest(RunDirectory(Path(forked)))
    assert manifest["study"]["sha256"] == hashlib.sha256(Path(study).read_bytes()).hexdigest()
    assert manifest["forked_from"]


def test_a_study_that_became_unsound_leaves_no_run(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("name: x\n")
    config = replace(vector_config(tmp_path / "runs", steps=1), study=str(study))
    with pytest.raises(ConfigError, match="is missing"):
        train(config, json_mode=True, build=vector_parts)
    assert not list((tmp_path / "runs").glob("*/*"))
