"""Scales: sigma and step size per block, from the configuration and the blocks that the backend has."""

from __future__ import annotations

import math

import pytest

from esagent.assemble import make_scales
from esagent.config.compose import compose
from esagent.core.population import Block
from esagent.errors import ConfigError

MODULES = (Block("planner", 100), Block("selector", 100), Block("caller", 100), Block("synthesizer", 200))


def test_the_default_job_steps_by_alpha_sigma_of_each_module() -> None:
    scales = make_scales(compose(), MODULES)
    sigma, step = scales.at(0)
    assert sigma == pytest.approx({"planner": 0.08, "selector": 0.1, "caller": 0.1, "synthesizer": 0.1})
    assert step == {name: 0.6 * value for name, value in sigma.items()}
    assert scales.at(15)[1] == {name: 0.1 * value for name, value in sigma.items()}


def test_sizes_and_factors_multiply() -> None:
    sigma, _ = make_scales(compose(["sigma.by_size=true"]), MODULES).at(0)
    assert sigma["planner"] == pytest.approx(0.08 * math.sqrt(5))
    assert sigma["synthesizer"] == pytest.approx(0.1 * math.sqrt(2.5))


def test_factors_of_the_agents_that_ship_mean_nothing_to_other_blocks_and_other_agents() -> None:
    layers = (Block("layer-18", 10), Block("layer-19", 10))
    parted = ["space.layers=18-19", "space.partition=layer"]
    assert make_scales(compose(parted), layers).at(0)[0] == {"layer-18": 0.1, "layer-19": 0.1}
    factor = [*parted, "sigma.modules.layer-19=2"]
    assert make_scales(compose(factor), layers).at(0)[0] == {"layer-18": 0.1, "layer-19": 0.2}
    own = compose(["agent.target=my_agent:MyAgent"])
    assert make_scales(own, (Block("answerer", 10),)).at(0)[0] == {"answerer": 0.1}
    with pytest.raises(ConfigError, match=r"sigma.modules.anserer: no such block is searched; did you mean answerer"):
        make_scales(compose(["agent.target=my_agent:MyAgent", "sigma.modules.anserer=2"]), (Block("answerer", 10),))


def test_more_parts_than_numbers_are_refused() -> None:
    blocks = (Block("part-0", 0), Block("part-1", 1))
    with pytest.raises(ConfigError, match=r"space.parts=2: only 1 numbers are searched"):
        make_scales(compose(["space.partition=random", "space.parts=2"]), blocks)
