"""Presets: what a method stands for, and that the command line still has the last word."""

from __future__ import annotations

import pytest

from esagent.config import names
from esagent.config.compose import compose
from esagent.config.methods import DEFINING
from esagent.config.schema import Control, Normalise, ScheduleKind, Shaping, StepFollows

# directions, antithetic, shaping, alpha, sigma (start, end), space, allocation: PAPERS, sections 2 to 4
PAPERS = {
    "es_at_scale": (30, False, Shaping.zscore, 5e-4, (1e-3, 1e-3), "full", "joint"),
    "agentic_esopt": (16, False, Shaping.zscore, 5e-4, (1e-3, 5e-4), "full", "joint"),
    "copes": (40, False, Shaping.zscore, 5e-4, (1e-3, 1e-3), "full", "uniform"),
    "eggroll": (16, True, Shaping.group, 5e-4, (1e-3, 1e-3), "lowrank", "joint"),
    "mezo": (1, True, Shaping.none, 1e-6, (1e-3, 1e-3), "full", "joint"),
}


@pytest.mark.parametrize("name", PAPERS)
def test_a_preset_is_the_papers_setting(name: str) -> None:
    config = compose([f"algorithm={name}"])
    algorithm, sigma = config.algorithm, config.sigma
    found = (algorithm.directions, algorithm.antithetic, algorithm.shaping, algorithm.step.start)
    assert (*found, (sigma.start, sigma.end), config.space.name, config.allocation.name) == PAPERS[name]
    assert (algorithm.name, algorithm.normalise, algorithm.step_follows) == (name, Normalise.none, StepFollows.none)
    assert config.space.scale == "absolute"  # the papers' sigma is one of the weights themselves
    assert algorithm.divide_by_sigma is (name == "mezo")
    assert sigma.by_size is (name == "copes")
    assert (sigma.schedule is ScheduleKind.cosine) is (name == "agentic_esopt")
    assert algorithm.control is Control.none


def test_copes_redraws_four_random_parts_every_step() -> None:
    space = compose(["algorithm=copes"]).space
    assert (space.partition, space.parts, space.redraw) == ("random", 4, True)


def test_every_name_has_a_preset_and_a_definition() -> None:
    assert {"es", *PAPERS} == set(names.ALGORITHMS) == {"es", *DEFINING}


@pytest.mark.parametrize("name", [name for name in PAPERS if name != "eggroll"])
def test_the_command_line_has_the_last_word(name: str) -> None:
    config = compose([f"algorithm={name}", "space=core", "sigma=linear", "sigma.start=0.1", "algorithm.directions=7"])
    assert (config.space.name, config.space.sites) == ("core", compose(["space=core"]).space.sites)
    assert (config.sigma.schedule, config.sigma.start) == (ScheduleKind.linear, 0.1)
    assert config.algorithm.directions == 7
    assert (
        compose(["space=core", "sigma.start=0.1", "sigma=linear", "algorithm.directions=7", f"algorithm={name}"])
        == config
    )


def test_an_experiment_chooses_over_a_preset() -> None:
    config = compose(["experiment=methods", "algorithm=copes"])
    assert (config.space.name, config.space.partition, config.algorithm.normalise) == (
        "core",
        "random",
        Normalise.block,
    )
    assert (config.algorithm.name, config.algorithm.directions, config.sigma.by_size) == ("copes", 40, True)


def test_the_default_job_is_a_step_of_alpha_sigma() -> None:
    algorithm = compose().algorithm
    assert (algorithm.name, algorithm.normalise, algorithm.step_follows) == ("es", Normalise.block, StepFollows.sigma)


def test_what_an_agent_says_of_its_modules_means_nothing_to_other_blocks() -> None:
    assert compose(["space=core", "space.partition=layer"]).sigma.modules["planner"] == 0.8
