"""Runs in which no guard has anything to say, over every space, in both formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from esagent.assemble import assemble
from esagent.config.compose import compose
from esagent.config.schema import Guards
from esagent.guards.start import GUARDS, guarded_start, inspect
from esagent.guards.subject import Subject
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import read_manifest
from esagent.train import resume, train
from tests.helpers.guarded import everything, tiny_config, tiny_parts, vector_subject
from tests.helpers.vector import vector_config, vector_parts

SPACES: dict[str, dict[str, Any]] = {
    "bias": {},
    "core": {},
    "lora": {},
    "full": {"layers": "all"},
    "lowrank": {"layers": "all"},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("space", SPACES)
def test_every_space_over_a_tiny_model(space: str, dtype: torch.dtype) -> None:
    config = tiny_config(f"space={space}", "sigma.start=0.02", "task.heldout=64")
    assert everything(Subject(config, tiny_parts(config, dtype, **SPACES[space]))) == {}


def test_a_run_that_learns(tmp_path: Path) -> None:
    assert everything(vector_subject()) == {}
    summary = train(vector_config(tmp_path, steps=4), build=vector_parts)
    assert summary["guards"] == {"mode": "strict", "findings": []}
    manifest = read_manifest(RunDirectory(Path(summary["run"])))
    assert {f["level"] for f in manifest["guards"]["findings"]} == {"ok"}
    assert {f["guard"] for f in manifest["guards"]["findings"]} <= set(GUARDS)


@pytest.mark.parametrize("overrides", [["experiment=routing/synthetic"], ["allocation=joint", "sigma=auto"]])
def test_the_synthetic_environment(overrides: list[str], tmp_path: Path) -> None:
    config = compose(["task=synthetic", *overrides, "budget.steps=3", f"runs_dir={tmp_path}"])
    assert everything(Subject(config, assemble(config))) == {}
    assert train(config)["guards"]["findings"] == []


def test_a_run_without_steps_is_not_probed() -> None:
    subject = vector_subject(budget=vector_config("nowhere", steps=0).budget)
    assert everything(subject) == {}
    assert subject.members == ()


def test_off_looks_at_nothing(tmp_path: Path) -> None:
    config = replace(vector_config(tmp_path), guards=Guards.off)
    assert guarded_start(config, None) is None  # type: ignore[arg-type]
    summary = train(replace(config, budget=replace(config.budget, steps=1)), build=vector_parts)
    assert summary["guards"] == {"mode": "off", "findings": []}
    assert read_manifest(RunDirectory(Path(summary["run"])))["guards"] is None


def test_guards_leave_the_parts_as_they_were() -> None:
    config = tiny_config("space=full", "sigma.start=0.02")
    parts = tiny_parts(config, torch.bfloat16, layers="all")
    digest, before = parts.backend.digest(), [t.clone() for t in parts.backend.space.parameters.centre.values()]  # type: ignore[attr-defined]
    inspect(config, parts)
    assert parts.backend.digest() == digest
    after = parts.backend.space.parameters.centre.values()  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_run_with_guards_is_the_run_without(tmp_path: Path) -> None:
    """Not a number of it is another."""
    config = vector_config(tmp_path, steps=2)
    strict = train(config, build=vector_parts)
    off = train(replace(config, guards=Guards.off, name="off"), build=vector_parts)
    for name in ("digest", "pool", "heldout", "auc", "tokens", "episodes"):
        assert strict[name] == off[name]
    assert resume(Path(strict["run"]), build=vector_parts)["guards"] == strict["guards"]
