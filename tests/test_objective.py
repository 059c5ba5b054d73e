"""objective=likelihood: trained on gold outputs, judged by greedy reward, and told for what it is everywhere."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esagent.assemble import assemble
from esagent.config.schema import Config, Guards, Objective
from esagent.core.episode import GOLD, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, Interrupted
from esagent.objective import gold_rollout
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import read_episodes, step_file
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.runs.states import find_state
from esagent.train import resume, train
from tests.helpers.tiny import make_tiny_folder
from tests.helpers.vector import MODULES, EchoFamily, VectorBackend, vector_config, vector_parts
from tests.runs.tiny_run import tiny_config


def config_of(folder: Path, **budget: Any) -> Config:
    return replace(vector_config(folder, **budget), objective=Objective.likelihood)


def run_of(config: Config) -> RunDirectory:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return RunDirectory(path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, RunDirectory, dict[str, Any]]:
    config = config_of(tmp_path_factory.mktemp("runs"))
    summary = train(config, build=vector_parts)
    return config, run_of(config), summary


def test_fitness_is_the_mean_over_gold_outputs_of_the_log_likelihood(tmp_path: Path) -> None:
    """Against the formula of the world, module by module."""
    parts = vector_parts(config_of(tmp_path))
    sigma = dict.fromkeys(MODULES, 0.7)
    members = [Perturbation(direction_seed(5, 0, i), sign, sigma) for i in (0, 1) for sign in (1, -1)]
    tasks = parts.pools.pool[:5]
    found = gold_rollout(parts, members, tasks)
    assert found.rewards.shape == (4, 5)
    assert found.dropped == []
    for m in range(4):
        for t, task in enumerate(tasks):
            margins = [
                parts.backend._margin(Request(name, f"{name}: {task.prompt}", member=m), members)  # type: ignore[attr-defined]
                for name in MODULES
            ]
            expected = np.mean([math.log(1 / (1 + math.exp(-4 * margin))) for margin in margins])
            assert found.rewards[m, t] == pytest.approx(expected)
    assert [(e.member, e.task.id, e.score.reward) for e in found.episodes] == [
        (m, task.id, found.rewards[m, t]) for m in range(4) for t, task in enumerate(tasks)
    ]


def test_it_raises_the_likelihood_of_gold_and_with_it_the_greedy_reward(
    finished: tuple[Config, RunDirectory, dict[str, Any]],
) -> None:
    config, run, summary = finished
    parts = vector_parts(config)
    centre = Perturbation(0, 1, {})
    before = gold_rollout(parts, [centre], parts.pools.heldout).rewards.mean()
    find_state(run, "last").bring(parts.backend)
    after = gold_rollout(parts, [centre], parts.pools.heldout).rewards.mean()
    assert before < -0.7
    assert after > before + 0.3
    assert summary["heldout"]["gain"] > 0.2
    assert 0 <= summary["heldout"]["trained"] <= 1


def test_the_journal_holds_the_fitness_and_nobody_is_blamed(
    finished: tuple[Config, RunDirectory, dict[str, Any]],
) -> None:
    _, run, summary = finished
    assert summary["objective"] == "likelihood"
    records = read_journal(run.journal)
    rows = [row for row in read_rows(run.metrics) if row["kind"] == "step"]
    for record, row in zip(records, rows, strict=True):
        assert record["objective"] == row["objective"] == "likelihood"
        assert (np.array(record["rewards"]) < 0).all()
        assert np.array(record["rewards"]).shape == (12, 12)
        assert row["reward_mean"] == pytest.approx(np.mean(record["rewards"]))
        assert record["signals"] == {}
        assert sum(record["blamed"].values()) == 0
        assert record["credit"] == dict.fromkeys(MODULES, 0.5)
    for row in read_rows(run.metrics):
        if row["kind"] == "evaluation":
            assert all(0 <= reward <= 1 for reward in row["rewards"])


def test_episodes_of_a_step_are_the_gold_ones(finished: tuple[Config, RunDirectory, dict[str, Any]]) -> None:
    _, run, _ = finished
    record = read_journal(run.journal)[2]
    episodes = list(read_episodes(step_file(run.episodes, 2)))
    assert [e["score"]["reward"] for e in episodes] == pytest.approx(np.array(record["rewards"]).ravel().tolist())
    for episode in episodes:
        assert [turn["completion"]["text"] for turn in episode["turns"]] == [episode["task"]["prompt"]] * 2
        assert episode["score"]["reason"] == GOLD
        assert episode["score"]["signals"] == {}


def test_a_resumed_run_ends_with_the_same_digest(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path
) -> None:
    config, run, summary = finished

    class Stopping(VectorBackend):
        def apply(self, update: Any) -> Any:
            if update.step == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().apply(update)

    again = replace(config, runs_dir=str(tmp_path))
    with pytest.raises(Interrupted):
        train(again, build=lambda c: replace(vector_parts(c), backend=Stopping()))
    assert resume(run_of(again).path, build=vector_parts)["digest"] == summary["digest"]
    outcome = [[(r["digest"], r["rewards"]) for r in read_journal(r.journal)] for r in (run, run_of(again))]
    assert outcome[0] == outcome[1]


class Broken(VectorBackend):
    """The first member's logits are never finite."""

    def score(self, requests: Any, texts: Any, members: Any) -> list[float]:
        scores = super().score(requests, texts, members)
        return [math.nan if request.member == 0 else score for request, score in zip(requests, scores, strict=True)]


def test_a_member_without_finite_logits_ranks_worst(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path, steps=2), guards=Guards.off)
    train(config, build=lambda c: replace(vector_parts(c), backend=Broken()))
    records = read_journal(run_of(config).journal)
    for record in records:
        assert np.isnan(np.array(record["rewards"], dtype=float)[0]).all()
        first = record["population"]["members"][0][0]
        weight = dict(record["update"]["terms"])[first]
        assert all(value < 0 for value in weight.values())
    assert json.loads(run_of(config).metrics.read_text().splitlines()[3])["kind"]


class Silent(EchoFamily):
    """Has no gold outputs."""

    def gold(self, task: Any) -> Any:
        return replace(super().gold(task), turns=())


def test_a_family_without_gold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    config = config_of(tmp_path / "runs")
    config.task = replace(config.task, target="tests.test_objective:Silent")
    with pytest.raises(ConfigError, match="echo has no gold outputs"):
        train(config, build=vector_parts)
    assert not (tmp_path / "runs").exists()


def test_a_tiny_model_learns_its_gold_outputs_and_resumes(tmp_path: Path) -> None:
    """The real agent, tools and backend: a few steps of likelihood training on random weights."""
    model = make_tiny_folder(tmp_path / "model")
    settings = ["objective=likelihood", "budget.steps=6", "algorithm.directions=16", "budget.select=last"]
    config = tiny_config(model, tmp_path / "runs", *settings, "budget.evaluate_every=0", "sigma.start=0.3")
    summary = train(config, json_mode=True)
    run = RunDirectory(Path(summary["run"]))
    parts, centre = assemble(config), Perturbation(0, 1, {})
    before = gold_rollout(parts, [centre], parts.pools.pool).rewards.mean()
    find_state(run, "last").bring(parts.backend)
    after = gold_rollout(parts, [centre], parts.pools.pool).rewards.mean()
    assert before == pytest.approx(-math.log(320), abs=1.5)
    assert after > before + 0.05
