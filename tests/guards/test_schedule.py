"""sigma -> 0 with a step that stays, as published and as it is meant."""

from __future__ import annotations

import math

import pytest

from esagent.assemble import assemble
from esagent.config.compose import compose
from esagent.guards.schedule import schedule
from esagent.guards.subject import Subject
from tests.helpers.guarded import looked, only

WALK = ("algorithm.step_follows=none", "algorithm.step.schedule=constant", "algorithm.step.start=5e-4")


def subject(*overrides: str) -> Subject:
    config = compose(["task=synthetic", "budget.steps=25", *overrides])
    return Subject(config, assemble(config))


def test_a_random_walk_at_the_end() -> None:
    """1e-3 -> 1e-5 linearly: sigma falls a hundredfold, the step not at all."""
    found = only(looked(schedule, subject("sigma=linear", "sigma.start=1e-3", "sigma.end=1e-5", *WALK)))
    assert found.figure == pytest.approx(100.0)
    assert "step_follows=sigma" in found.remedy


def test_a_sigma_of_nothing() -> None:
    found = only(looked(schedule, subject("sigma=cosine", "sigma.start=1e-3", "sigma.end=0", *WALK)))
    assert found.figure == math.inf
    assert "1 of 25 steps, from step 24 on" in found.cause


def test_a_step_that_grows_sixfold_is_told_of() -> None:
    found = only(looked(schedule, subject("sigma=linear", "sigma.start=6e-3", "sigma.end=1e-3", *WALK)), "note")
    assert found.figure == pytest.approx(6.0)


@pytest.mark.parametrize(
    "overrides",
    [
        ["algorithm=agentic_esopt", "sigma.start=0.1", "sigma.end=0.05", "task=synthetic"],  # its q is 2
        ["sigma=linear", "sigma.start=0.1", "sigma.end=1e-3"],  # the step follows
        ["sigma=linear", "sigma.start=0.1", "sigma.end=1e-3", *WALK, "algorithm.normalise=none"],  # raw rewards
        ["sigma=linear", "sigma.start=0.1", "sigma.end=1e-3", *WALK, "algorithm.control=frozen"],
        ["sigma.warmup=4", "algorithm.step.warmup=4", *WALK],
    ],
)
def test_schedules_that_are_no_fault(overrides: list[str]) -> None:
    if "algorithm=agentic_esopt" in overrides:
        overrides = [*overrides, "space=skills"]
    assert looked(schedule, subject(*overrides)) == []
