"""Perturbations that change nothing, really made so, and perturbations that do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from esagent.agents.base import Agent, Run
from esagent.core.episode import Task, Trajectory
from esagent.guards.effect import calibrated, effect
from esagent.guards.subject import Subject
from esagent.spaces.lora import LoraSpace
from esagent.spaces.partitions import make_partition
from esagent.spaces.sites import find_sites
from esagent.tasks.base import Environment
from tests.helpers.guarded import looked, only, parts_over, tiny_config, tiny_parts
from tests.helpers.tiny import make_tiny


def test_a_lora_whose_a_moves_beside_a_b_of_zeros() -> None:
    config = tiny_config("space=lora")
    model, tokenizer = make_tiny()
    sites = find_sites(model, "1-3", ["down_proj"])
    modules = ("planner", "selector", "caller", "synthesizer")
    space = LoraSpace(sites, modules, make_partition("module", 4, True), 2, sigma_a=1.0, sigma_b=0.0)
    found = only(looked(effect, Subject(config, parts_over(config, model, tokenizer, space))))
    assert found.figure == 0.0
    for module in modules:
        assert module in found.cause


def test_weights_that_answers_are_not_computed_with() -> None:
    """Layers multiply by copies that were made before, and nobody tells them that the weights changed."""
    config = tiny_config("space=full", "sigma.start=0.05", "space.include=[mlp]")
    assert looked(effect, Subject(config, tiny_parts(config, layers="all"))) == []
    parts = tiny_parts(config, layers="all")
    for name, module in parts.backend._network.model.named_modules():  # type: ignore[attr-defined]
        if name.endswith("_proj"):
            module.weight = nn.Parameter(module.weight.clone(), requires_grad=False)
    assert only(looked(effect, Subject(config, parts))).figure == 0.0


def test_a_sigma_that_the_precision_swallows() -> None:
    config = tiny_config("sigma.start=1e-7")
    parts = tiny_parts(config, torch.bfloat16)
    assert only(looked(effect, Subject(config, parts))).figure == pytest.approx(0.0, abs=0.01)


class Silent:
    """The modular agent, which stops where its caller or its synthesizer would be asked."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.modules = agent.modules

    def run(self, task: Task, env: Environment) -> Run:
        run = self._agent.run(task, env)
        request = next(run)
        while request.module not in ("caller", "synthesizer"):
            request = run.send((yield request))
        return Trajectory((), "")


def test_a_module_that_is_never_asked_is_told_of() -> None:
    config = tiny_config()
    parts = tiny_parts(config)
    found = looked(effect, Subject(config, replace(parts, agent=Silent(parts.agent))))
    assert {f.level for f in found} == {"note"}
    told = " ".join(f.cause for f in found)
    assert "nothing of caller" in told
    assert "nothing of synthesizer" in told
    assert "nothing of planner" not in told


@pytest.mark.parametrize("space", ["bias", "core", "lora"])
def test_adapters_have_an_effect(space: str) -> None:
    config = tiny_config(f"space={space}")
    assert looked(effect, Subject(config, tiny_parts(config))) == []


def test_a_calibration_that_changed_nothing() -> None:
    sound = {"name": "planner", "changed": 0.3}
    assert list(calibrated([sound, {"name": "caller", "changed": None}])) == []
    found = only(list(calibrated([sound, {"name": "caller", "changed": 0.0}])))
    assert "caller" in found.cause
    assert "planner" not in found.cause
