"""Directions routed by credit in whole runs over a small world: every scheme trains, is recorded and can be resumed."""

from __future__ import annotations

import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from esagent.allocation.history import history_of
from esagent.config.schema import (
    AllocationConfig,
    AllocationWrap,
    Config,
    CreditConfig,
    CreditSource,
    Normalise,
    Objective,
    StepFollows,
    UpdateNorm,
)
from esagent.core.episode import UNPERTURBED
from esagent.errors import ConfigError, Interrupted
from esagent.runs.directory import open_run
from esagent.runs.episodes import read_episodes
from esagent.runs.identity import read_manifest
from esagent.runs.journal import Journal, read_journal
from esagent.runs.metrics import read_rows
from esagent.stats.results import measure, read_result
from esagent.train import resume, train
from tests.allocation.table import EVERY
from tests.helpers.vector import MODULES, vector_config, vector_parts
from tests.test_train import run_of, stopping_parts

NORMS = {UpdateNorm.block: Normalise.block, UpdateNorm.total: Normalise.none}
LATER = ("target", "step_scale", "update_norm", "judged", "credit_before", "reached", "blamed_unperturbed")
"""What a journal of the first version does not hold."""


ONCE = [(name, wrap) for name, wrap in EVERY if wrap is AllocationWrap.none or name == "starve"]
"""Every scheme, and every wrap around one of them: all pairs are planned by the same function (tests/allocation)."""


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing the curve takes most of the time of a run as small as these."""
    monkeypatch.setattr("esagent.train.save_curve", lambda path: None)


def routed(folder: Path, name: str, wrap: AllocationWrap = AllocationWrap.none, **budget: Any) -> Config:
    """Seven directions a step, so that shares are no whole numbers."""
    config = vector_config(folder, **{"steps": 6, "evaluate_every": 3, **budget})
    asks = name in ("oracle", "starve")
    config.allocation = AllocationConfig(
        name, wrap, bottleneck="finder" if asks else None, starvation=0.5 if name == "starve" else 0.0
    )
    config.algorithm = replace(config.algorithm, directions=7)
    return config


def story(path: Path) -> list[dict[str, Any]]:
    """The records without times and costs."""
    apart = ("seconds", "cost", "peak_memory_bytes")
    return [{k: v for k, v in r.items() if k not in apart} for r in read_journal(path / "journal.jsonl")]


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.value)
@pytest.mark.parametrize(("name", "wrap"), ONCE, ids=[f"{n}-{w.value}" for n, w in ONCE])
def test_every_scheme_trains_under_both_norms(
    tmp_path: Path, name: str, wrap: AllocationWrap, norm: UpdateNorm
) -> None:
    config = routed(tmp_path, name, wrap, steps=3)
    config.algorithm = replace(config.algorithm, update_norm=norm, normalise=NORMS[norm])
    summary = train(config, build=vector_parts)
    path = run_of(config)
    records, rows = read_journal(path / "journal.jsonl"), read_rows(path / "metrics.jsonl")
    rows = [row for row in rows if row["kind"] == "step"]
    for record, row in zip(records, rows, strict=True):
        counts = record["allocation"]
        assert counts.keys() == set(MODULES)
        assert sum(counts.values()) == 7 * (2 if name == "joint" else 1)
        members = record["population"]["members"]
        for module in MODULES:
            sigmas = {sigma[module] for _, _, sigma in members if module in sigma}
            assert sigmas == ({record["sigma"][module]} if counts[module] else set())
            share = (counts[module] > 0) if norm is UpdateNorm.block else counts[module] / 7
            assert row["signal"][module] == pytest.approx(record["step_scale"][module] * share)
            if not counts[module]:
                assert row["moved"][module] == 0.0
    for module, found in summary["blocks"].items():
        assert found["directions"] == sum(record["allocation"][module] for record in records)
        assert found["starved"] == sum(record["allocation"][module] == 0 for record in records) / 3
        assert found["path"] == pytest.approx(sum(row["moved"][module] for row in rows))
        assert 0 <= found["displacement"] <= found["path"] * (1 + 1e-6)


RESUMED = {
    "soft, floor": ("soft", AllocationWrap.floor, {}),
    "argmax, catchup": ("argmax", AllocationWrap.catchup, {"noise": 0.3}),
    "ipw, unperturbed": ("ipw", AllocationWrap.none, {"source": CreditSource.unperturbed, "smoothing": 0.5}),
    "random": ("random", AllocationWrap.none, {}),
    "starve, burst": ("starve", AllocationWrap.burst, {}),
}


@pytest.mark.parametrize(("name", "wrap", "credit"), RESUMED.values(), ids=RESUMED)
def test_a_stopped_run_goes_on_as_it_would_have(tmp_path: Path, name, wrap, credit) -> None:
    whole, stopped = routed(tmp_path / "whole", name, wrap), routed(tmp_path / "stopped", name, wrap)
    whole.credit = stopped.credit = CreditConfig(**credit)
    train(whole, build=vector_parts)
    with pytest.raises(Interrupted):
        train(stopped, build=stopping_parts(signal.SIGINT))
    resume(run_of(stopped), build=vector_parts)
    told = story(run_of(whole))
    assert story(run_of(stopped)) == told
    for earlier, later in pairwise(told):
        assert later["credit_before"] == earlier["credit"]


def test_credit_is_learned_from_what_was_judged(tmp_path: Path) -> None:
    config = routed(tmp_path, "soft")
    config.credit = CreditConfig(rate=0.5, smoothing=2.0)
    train(config, build=vector_parts)
    for record in story(run_of(config)):
        judged = record["judged"]
        assert judged["source"] == "members"
        assert judged["blamed"] == record["blamed"]  # without noise
        assert judged["episodes"] == judged["reached"]["finder"] == 14 * 12
        failures = sum(judged["blamed"].values())
        for module in MODULES:
            share = (judged["blamed"][module] + 2.0) / (failures + 4.0)
            assert record["credit"][module] == pytest.approx(0.5 * record["credit_before"][module] + 0.5 * share)
        assert record["blamed_unperturbed"] is None
        credit = record["credit_before"]
        assert record["target"] == pytest.approx({module: 7 * credit[module] for module in MODULES})


def test_credit_from_the_unperturbed_agent(tmp_path: Path) -> None:
    config = routed(tmp_path, "soft", steps=2)
    config.credit = CreditConfig(source=CreditSource.unperturbed)
    train(config, build=vector_parts)
    path = run_of(config)
    for record in read_journal(path / "journal.jsonl"):
        episodes = list(read_episodes(path / "episodes" / f"step-{record['step']:06d}.jsonl.zst"))
        centre = [episode for episode in episodes if episode["member"] == UNPERTURBED]
        assert len(centre) == record["judged"]["episodes"] == 12
        assert len(episodes) == 12 * 15
        failed = sum(not episode["score"]["success"] for episode in centre)
        assert sum(record["judged"]["blamed"].values()) == sum(record["blamed_unperturbed"].values()) == failed
        assert sum(record["blamed"].values()) > failed
    evaluations = [row for row in read_rows(path / "metrics.jsonl") if row["kind"] == "evaluation"]
    assert all(sum(row["blamed"].values()) == sum(reward < 1 for reward in row["rewards"]) for row in evaluations)


def test_scales_reach_members_and_steps(tmp_path: Path) -> None:
    config = routed(tmp_path, "sigma")
    config.allocation = replace(config.allocation, step_follows=StepFollows.sigma)
    train(config, build=vector_parts)
    records = read_journal(run_of(config) / "journal.jsonl")
    assert records[-1]["sigma"]["finder"] != records[-1]["sigma"]["writer"]
    for step, record in enumerate(records):
        alpha = 0.4 * (0.8 - 0.6 * step / 5)
        for module in MODULES:
            assert record["sigma"][module] == pytest.approx(0.4 * record["step_scale"][module])
            assert record["update"]["step_size"][module] == pytest.approx(alpha * record["step_scale"][module])


def test_a_starved_module_catches_up(tmp_path: Path) -> None:
    config = routed(tmp_path, "starve", AllocationWrap.catchup)
    summary = train(config, build=vector_parts)
    records = read_journal(run_of(config) / "journal.jsonl")
    assert [record["allocation"]["finder"] > 0 for record in records] == [True, False] * 3
    assert [record["step_scale"]["finder"] for record in records] == [1, 1, 2, 1, 2, 1]
    assert summary["blocks"]["finder"]["starved"] == 0.5
    assert summary["blocks"]["finder"]["signal"] == 5
    assert summary["blocks"]["writer"]["signal"] == 6


def test_the_summary_tells_the_learning_curve(tmp_path: Path) -> None:
    config = routed(tmp_path, "uniform")
    summary = train(config, build=vector_parts)
    path = run_of(config)
    rows = [row for row in read_rows(path / "metrics.jsonl") if row.get("split") == "pool"]
    means = {row["step"]: row["mean"] for row in rows}
    assert sorted(means) == [0, 3, 6]
    assert summary["auc"] == pytest.approx((means[0] + 2 * means[3] + means[6]) / 4)
    assert summary["final"] == means[6]
    result = read_result(path)
    assert measure(result, "auc", result.budget).value == pytest.approx(summary["auc"])


def test_one_step_ends_as_far_as_it_went(tmp_path: Path) -> None:
    summary = train(routed(tmp_path, "joint", steps=1), build=vector_parts)
    for found in summary["blocks"].values():
        assert found["displacement"] == pytest.approx(found["path"])
        assert found["path"] > 0


def test_a_journal_of_the_first_version_is_gone_on_with(tmp_path: Path) -> None:
    """It has neither targets nor propensities, and does not name blocks without directions."""
    whole, older = (routed(tmp_path / folder, "uniform") for folder in ("whole", "older"))
    train(whole, build=vector_parts)
    with pytest.raises(Interrupted):
        train(older, build=stopping_parts(signal.SIGINT))
    run = open_run(run_of(older))
    records = read_journal(run.journal)
    run.journal.unlink()
    with Journal(run.journal, read_manifest(run)["checksum"]) as journal:
        for record in records:
            kept = {key: value for key, value in record.items() if key not in LATER}
            kept["allocation"] = {block: count for block, count in kept["allocation"].items() if count}
            journal.append(kept)
    assert history_of(read_journal(run.journal)) == history_of(records)
    resume(run.path, build=vector_parts)
    told, again = story(run_of(whole)), story(run.path)
    assert [r["digest"] for r in again] == [r["digest"] for r in told]
    assert [r["credit"] for r in again] == [r["credit"] for r in told]


def test_the_bottleneck_must_be_searched(tmp_path: Path) -> None:
    config = routed(tmp_path / "runs", "oracle")
    config.allocation = replace(config.allocation, bottleneck="findr")
    with pytest.raises(ConfigError, match=r"allocation\.bottleneck=findr.*did you mean finder"):
        train(config, build=vector_parts)
    assert not (tmp_path / "runs").exists()


def test_likelihood_learns_credit_from_the_unperturbed_agent(tmp_path: Path) -> None:
    config = routed(tmp_path, "soft", steps=2)
    config.objective = Objective.likelihood
    config.credit = CreditConfig(source=CreditSource.unperturbed)
    train(config, build=vector_parts)
    record = read_journal(run_of(config) / "journal.jsonl")[-1]
    assert sum(record["blamed"].values()) == 0 < sum(record["blamed_unperturbed"].values())
