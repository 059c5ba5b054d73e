"""Runs that end by episodes, tokens, FLOPs or seconds: exactly where they should, stopped or not."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from esagent.config.schema import Config
from esagent.core.ledger import KINDS, step_cost
from esagent.core.population import Update
from esagent.errors import ConfigError, Interrupted, RunError
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.runs.states import find_state
from esagent.stats.results import measure, read_result
from esagent.train import resume, train
from tests.helpers.vector import VectorBackend, vector_config, vector_parts

# A step has 6 antithetic directions on 12 tasks: 144 episodes of 3 to 6 tokens. A second by the clock of these tests.
LIMITS = {"steps": 5, "episodes": 5 * 144 + 60, "tokens": 2600.0, "flops": 4500.0, "seconds": 5.5}


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by a second at every look: a step looks when it begins and when it ends."""
    ticks = itertools.count()
    monkeypatch.setattr("esagent.train.time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    monkeypatch.setattr("esagent.train.save_curve", lambda folder: None)  # takes longer than all else


def config_of(folder: Path, kind: str, amount: float | None = None) -> Config:
    spent: dict[str, Any] = dict.fromkeys(KINDS) | {kind: LIMITS[kind] if amount is None else amount}
    return vector_config(folder, evaluate_every=2, **spent)


def run_of(config: Config) -> RunDirectory:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return RunDirectory(path)


def stopping_after(step: int) -> Callable[[Config], Any]:
    class Stopping(VectorBackend):
        def apply(self, update: Update) -> Any:
            if update.step == step:
                os.kill(os.getpid(), signal.SIGINT)
            return super().apply(update)

    return lambda config: replace(vector_parts(config), backend=Stopping())


def costs(run: RunDirectory, kind: str) -> list[float]:
    return [step_cost(record, kind) for record in read_journal(run.journal)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_ends_within_its_budget_and_a_stopped_one_where_it_would_have(tmp_path: Path, kind: str) -> None:
    config = config_of(tmp_path / "whole", kind)
    summary = train(config, build=vector_parts)
    run = run_of(config)
    spent, budget = costs(run, kind), summary["budget"]
    counted = summary["steps"]
    assert (budget["kind"], budget["limit"]) == (kind, LIMITS[kind])
    assert budget["spent"] == sum(spent[:counted]) <= LIMITS[kind]
    assert budget["unspent"] == LIMITS[kind] - budget["spent"]
    assert budget["uncounted"] == sum(spent[counted:])
    assert len(spent) - counted <= 1
    assert budget["unspent"] < (24 if kind == "episodes" else max(1, *spent))
    pool = [row["step"] for row in read_rows(run.metrics) if row.get("split") == "pool"]
    assert sorted(set(pool)) == sorted({*range(0, counted, 2), counted}), "the last state that counts is evaluated"
    assert summary["selected_step"] <= counted

    for step in range(len(spent)):
        stopped = replace(config, runs_dir=str(tmp_path / f"stopped-{step}"))
        with pytest.raises(Interrupted):
            train(stopped, build=stopping_after(step))
        again = resume(run_of(stopped).path, build=vector_parts)
        for name in ("budget", "steps", "digest", "selected_step", "pool", "heldout", "episodes", "flops", "tokens"):
            assert again[name] == summary[name]
        numbers = [
            [(r["digest"], r["update"], r["rewards"]) for r in read_journal(found.journal)]
            for found in (run, run_of(stopped))
        ]
        assert numbers[0] == numbers[1]


def test_the_last_step_by_episodes_is_smaller(tmp_path: Path) -> None:
    """780 episodes: five steps of 144, then two directions of 24 each; 12 are left."""
    config = config_of(tmp_path, "episodes")
    summary = train(config, build=vector_parts)
    records = read_journal(run_of(config).journal)
    assert [len(r["rewards"]) for r in records] == [12] * 5 + [4]
    assert summary["budget"] == {"kind": "episodes", "limit": 780, "spent": 768, "unspent": 12, "uncounted": 0}
    sizes = [next(iter(r["update"]["step_size"].values())) / 0.4 for r in records]
    assert sizes == pytest.approx([0.8 - 0.6 * t / 5 for t in range(6)])


def test_a_step_that_went_beyond_is_on_record_and_does_not_count(tmp_path: Path) -> None:
    config = config_of(tmp_path, "seconds", 3.5)
    train(config, build=vector_parts)
    assert len(read_journal(run_of(config).journal)) == 3, "half a second was left and every step took one"

    whole = costs_of_steps(tmp_path / "probe")
    dear = next(t for t in range(1, len(whole)) if whole[t] > min(whole[:t]))
    amount = sum(whole[: dear + 1]) - 1
    config = config_of(tmp_path / "tokens", "tokens", amount)
    summary = train(config, build=vector_parts)
    run = run_of(config)
    assert (summary["steps"], len(read_journal(run.journal))) == (dear, dear + 1)
    assert summary["budget"]["uncounted"] == whole[dear]
    assert summary["ledger"]["training"]["episodes"] == summary["episodes"] == dear * 144
    assert summary["ledger"]["uncounted"]["episodes"] == 144
    assert find_state(run, "last").step == dear
    assert resume(run.path, build=vector_parts) == json.loads(json.dumps(summary))
    (run.path / "summary.json").unlink()
    assert resume(run.path, build=vector_parts)["digest"] == summary["digest"]
    area = measure(read_result(run.path), "auc", amount)
    assert 0 < area.value < 1


def costs_of_steps(folder: Path) -> list[float]:
    """Tokens of each step under a budget of tokens that is not reached."""
    config = config_of(folder, "tokens", 8000.0)
    train(config, build=vector_parts)
    return costs(run_of(config), "tokens")


def test_a_budget_below_one_step_leaves_the_base(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = config_of(tmp_path, "tokens", 10.0)
    summary = train(config, build=vector_parts)
    assert (summary["steps"], summary["selected_step"], summary["pool"]["gain"]) == (0, 0, 0.0)
    assert "budget.tokens=10 is less than one step took" in caplog.text


def test_a_fork_may_spend_more_but_not_less(tmp_path: Path) -> None:
    config = config_of(tmp_path, "tokens")
    first = train(config, build=vector_parts)
    run = run_of(config)
    with pytest.raises(ConfigError, match=r"budget.tokens=500: the parent has done .* already"):
        fork(run.path, overrides=["budget.tokens=500"], build=vector_parts)
    again = fork(run.path, overrides=["budget.tokens=4e3"], build=vector_parts)
    assert again["steps"] > first["steps"]
    assert again["budget"]["spent"] <= 4000


def test_a_step_without_flops_cannot_be_budgeted_by_them(tmp_path: Path) -> None:
    class Uncounted(VectorBackend):
        def cost(self) -> Any:
            return replace(super().cost(), flops=0.0)

    with pytest.raises(RunError, match="counted no flops"):
        train(config_of(tmp_path, "flops"), build=lambda config: replace(vector_parts(config), backend=Uncounted()))


def test_training_and_evaluation_are_counted_apart(tmp_path: Path) -> None:
    config = config_of(tmp_path, "steps", 4)
    summary = train(config, build=lambda config: with_parameters(config, 1000))
    rows = read_rows(run_of(config).metrics)
    ledger = summary["ledger"]
    steps = [row for row in rows if row["kind"] == "step"]
    checks = [row for row in rows if row["kind"] == "evaluation"]
    for name in ("episodes", "prompt_tokens", "completion_tokens", "trajectory_tokens", "flops", "seconds"):
        assert ledger["training"][name] == sum(row[name] for row in steps) > 0
    assert ledger["evaluation"]["episodes"] == 3 * (32 + 24) + 48 * len({0, summary["selected_step"]})
    assert ledger["evaluation"]["prompt_tokens"] == sum(row["cost"]["prompt_tokens"] for row in checks)
    training = ledger["training"]
    tokens = training["prompt_tokens"] + training["completion_tokens"]
    assert training["model_flops"]["processed"] == 2 * 1000 * tokens
    assert training["model_flops"]["es"] == 2 * 1000 * tokens, "no module's prompt goes on with an earlier one"
    assert training["model_flops"]["grpo"] == 8 * 1000 * tokens
    assert summary["parameters"] == 1000


def with_parameters(config: Config, count: int) -> Any:
    parts = vector_parts(config)
    return replace(parts, facts=replace(parts.facts, parameters=count))


def test_the_area_runs_over_the_kind_of_the_budget(tmp_path: Path) -> None:
    """Tokens of the steps on the axis; what was left of the budget counts with the last value."""
    config = config_of(tmp_path, "tokens", 2000.0)
    train(config, build=vector_parts)
    run = run_of(config)
    rows = read_rows(run.metrics)
    spent = [0.0, *itertools.accumulate(costs(run, "tokens"))]
    curve = {row["step"]: row["mean"] for row in rows if row.get("split") == "pool"}
    points = [(spent[step], curve[step]) for step in sorted(curve)]
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))
    area += (2000 - points[-1][0]) * points[-1][1]
    result = read_result(run.path)
    assert (result.unit, result.budget) == ("tokens", 2000.0)
    assert measure(result, "auc", result.budget).value == pytest.approx(area / 2000)
