"""Interventions: one module's gold behaviour in place of its own, and whether credit points where it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.agents.modular import ModularAgent
from esagent.agents.react import ReactAgent
from esagent.core.episode import Completion, Request
from esagent.credit.agreement import agreement, bottleneck
from esagent.errors import ConfigError
from esagent.eval import Options, evaluate_run
from esagent.gold import gold_episode
from esagent.intervention import intervene, require_interventions
from esagent.report.evaluation import render_evaluation
from esagent.runs.directory import RunDirectory
from esagent.tasks.toolbox import ToolboxFamily
from esagent.train import train
from tests.agents.scripted import ScriptedBackend
from tests.helpers.vector import vector_config, vector_parts

FAMILY, AGENT = ToolboxFamily("medium"), ModularAgent()
TASKS = FAMILY.tasks("train", 3, 24)


def gold_but_for(module: str) -> ScriptedBackend:
    """A model that answers as gold does, but for one module, which writes nonsense."""
    golds = [gold_episode(AGENT, FAMILY, task) for task in TASKS]
    known = {(r.module, r.prompt): text for gold in golds for r, text in zip(gold.requests, gold.texts, strict=True)}

    def answer(request: Request) -> Completion:
        right = known.get((request.module, request.prompt), " nonsense")
        return Completion(" nonsense" if request.module == module else right)

    return ScriptedBackend(answer)


@pytest.mark.parametrize("module", AGENT.modules)
def test_what_is_broken_is_found(module: str) -> None:
    found = intervene(AGENT, FAMILY, gold_but_for(module), TASKS)
    assert found.bottleneck == module
    assert found.gains[module][0] == pytest.approx(1.0 - found.base)  # with its gold everything is right
    assert found.base < 1.0
    assert found.n == len(TASKS)
    others = [gain[0] for name, gain in found.gains.items() if name != module]
    assert max(others) < found.gains[module][0]


def test_an_agent_that_is_right_has_no_bottleneck() -> None:
    found = intervene(AGENT, FAMILY, gold_but_for("nobody"), TASKS)
    assert found.base == 1.0
    assert found.bottleneck is None
    assert {gain[0] for gain in found.gains.values()} == {0.0}


def test_an_agent_without_gold_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError) as told:
        require_interventions(ReactAgent(), FAMILY, TASKS)
    (line,) = told.value.problems
    assert line.startswith("an intervention: toolbox has no gold outputs for this agent: ")


def test_agreement_by_hand() -> None:
    found = agreement({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.1, "b": 0.4, "c": 0.0})
    assert (found.blamed, found.bottleneck, found.same) == ("a", "b", False)
    assert found.rank_correlation == pytest.approx(1 / 3)  # two of three pairs agree
    assert agreement({"a": 0.6, "b": 0.4}, {"a": 0.2, "b": 0.1}).same
    assert agreement({"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.1}).rank_correlation is None
    assert bottleneck({"a": 0.0, "b": -0.1}) is None


def test_eval_tells_interventions_beside_credit(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=2)
    run = RunDirectory(Path(train(config, build=vector_parts)["run"]))

    def build(config):
        parts = vector_parts(config)
        return parts.agent, parts.backend, parts.facts

    options = Options("heldout", k=0, n=20, interventions=True)
    result = evaluate_run(run, config, config, options, plain=True, build=build)
    for name in ("base", "trained"):
        found = result["interventions"][name]
        assert found["n"] == 20
        assert found["base"] == pytest.approx(result["metrics"]["greedy_reward"][name]["mean"])
        assert found["gains"].keys() == {"finder", "writer"}
    told = result["interventions"]["trained"]["agreement"]
    assert told["blamed"] == max(result["credit"], key=result["credit"].get)
    assert told["same"] == (told["blamed"] == told["bottleneck"])
    assert "agreement" not in result["interventions"]["base"]
    assert len(render_evaluation(result).renderables) == 5
    without = evaluate_run(run, config, config, Options("heldout", k=0, n=20), plain=True, build=build)
    assert "interventions" not in without
