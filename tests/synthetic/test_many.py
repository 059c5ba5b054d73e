"""Runs made together are, seed by seed, those that `train` makes: their summaries, and every bit of theta."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from esagent.errors import ConfigError
from esagent.runs.directory import open_run
from esagent.runs.identity import read_manifest
from esagent.runs.journal import inspect_journal
from esagent.runs.metrics import read_rows
from esagent.synthetic.many import run_many
from esagent.synthetic.memory import Memory
from esagent.train import train
from tests.synthetic.configs import short

ARMS = {
    "soft": ["allocation=soft", "credit.noise=0.3"],
    "joint": ["allocation=joint", "algorithm.shaping=group"],
    "soft_sigma": ["allocation=soft_sigma", "credit.source=unperturbed", "allocation.step_follows=sigma"],
    "floor": ["allocation=misroute", "allocation.wrap=floor", "algorithm.update_norm=total"],
    "catchup": [
        *("allocation=starve", "allocation.bottleneck=caller", "allocation.starvation=0.4", "allocation.wrap=catchup"),
        *("algorithm.step.schedule=linear", "algorithm.step.end=0.01", "sigma.modules.caller=2.0"),
    ],
    "random": ["allocation=random", "space.modules=[caller,selector]", "space.noise=rademacher"],
    "ipw": ["allocation=ipw", "task.chain.modules=[caller,planner]", "task.heldout=0", "algorithm.antithetic=false"],
}


@pytest.mark.parametrize("overrides", ARMS.values(), ids=ARMS)
def test_the_same_as_train(overrides: list[str], tmp_path: Path) -> None:
    config = short("seed=4", f"runs_dir={tmp_path}", *overrides)
    summary = train(config)
    found = run_many(config, [3, 4, 5])[1]

    assert (found.seed, found.auc, found.final) == (4, summary["auc"], summary["final"])
    run = open_run(Path(summary["run"]))
    rows = read_rows(run.metrics)
    means = {(row["split"], row["step"]): row["mean"] for row in rows if row["kind"] == "evaluation"}
    assert found.pool == {step: mean for (split, step), mean in means.items() if split == "pool"}
    assert found.heldout == ((means["heldout", 0], means["heldout", 5]) if config.task.heldout else None)

    records = inspect_journal(run.journal, read_manifest(run)["checksum"]).records
    modules = config.task.chain.modules
    assert found.credit[1:].tolist() == [[record["credit"][name] for name in modules] for record in records]
    snapshot = load_file(run.snapshots / "step-000005.safetensors")
    assert {f"centre/skill@{name}" for name in found.theta} == set(snapshot)
    for name, theta in found.theta.items():
        assert np.array_equal(theta, snapshot[f"centre/skill@{name}"])
    assert found.theta["caller"].any()
    for name, block in summary["blocks"].items():
        assert found.blocks[name] == pytest.approx(block, rel=1e-12)


def test_what_is_shared_changes_nothing() -> None:
    memory = Memory(most=10)
    run_many(short("allocation=argmax", "task.chain.size=4"), [0, 1], memory)
    alone, shared = run_many(short(), [1]), run_many(short(), [0, 1], memory)
    assert alone[0].auc == shared[1].auc
    assert np.array_equal(alone[0].theta["caller"], shared[1].theta["caller"])


def test_what_only_train_can_run_is_refused_by_name() -> None:
    momentum = "algorithm.rule=momentum", "algorithm.momentum=0.5"
    config = short(*momentum, "algorithm.normalise=block", "budget.task_sampling=variance", "space.partition=whole")
    with pytest.raises(ConfigError) as refused:
        run_many(config, [0])
    paths = [problem.partition("=")[0] for problem in refused.value.problems]
    assert paths == ["algorithm.rule", "algorithm.normalise", "budget.task_sampling", "space.partition"]
    other = replace(short(), init="latest", budget=replace(short().budget, steps=None, tokens=1e4))
    with pytest.raises(ConfigError, match=r"init=latest.*budget.steps"):
        run_many(other, [0])


def test_a_known_bottleneck_is_where_credit_goes() -> None:
    """Without noise the caller, the one weak module, is blamed most; and it is what gets better."""
    (run,) = run_many(short("budget.steps=12", "allocation=oracle", "allocation.bottleneck=caller"), [0])
    assert run.credit[5].argmax() == 2
    assert run.skills[-1, 2] > run.skills[0, 2]
    assert (run.skills[-1, [0, 1, 3]] == run.skills[0, [0, 1, 3]]).all()
