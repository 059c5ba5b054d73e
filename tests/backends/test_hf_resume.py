"""With backend.deterministic a resumed run is the undisturbed run, though its caches and drafts start cold."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.assemble import Parts, assemble
from esagent.config.names import WEIGHT_SPACES
from esagent.config.schema import (
    AgentConfig,
    AlgorithmConfig,
    BackendConfig,
    BudgetConfig,
    Config,
    DType,
    ModelConfig,
    Positions,
    SigmaConfig,
    SpaceConfig,
    TaskConfig,
)
from esagent.core.population import Update
from esagent.errors import Interrupted
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.tiny import make_tiny_folder

pytestmark = pytest.mark.kill


def full(precision: str) -> SpaceConfig:
    return SpaceConfig("full", "all", [], positions=Positions.all, partition="whole", precision=precision)


SPACES = {
    "bias": (SpaceConfig(layers="2-3"), 0.5),
    "full": (full("master"), 0.05),
    "full-stochastic": (full("stochastic"), 0.05),
    "lora": (SpaceConfig("lora", "2-3", rank=2, sigma_a=0.5), 0.5),
    "lowrank": (replace(full("master"), name="lowrank", rank=1), 0.05),
    "lowrank-stochastic": (replace(full("stochastic"), name="lowrank", rank=2), 0.05),
}


def job(folder: Path, runs_dir: Path, space: SpaceConfig, sigma: float) -> Config:
    return Config(
        model=ModelConfig(source=str(folder), dtype=DType.bfloat16),
        backend=BackendConfig(deterministic=True),
        agent=AgentConfig(target="tests.backends.letters:LetterAgent"),
        task=TaskConfig(target="tests.backends.letters:LetterFamily", pool=4, validation=0, heldout=2),
        algorithm=AlgorithmConfig(directions=2 if space.name in WEIGHT_SPACES else 4),
        sigma=SigmaConfig(start=sigma),
        space=space,
        budget=BudgetConfig(3, 2, evaluate_every=2, snapshot_every=3),
        runs_dir=str(runs_dir),
    )


def stopped_in(step: int) -> Any:
    """A build whose backend meets Ctrl-C while it applies the update of `step`."""

    def build(config: Config) -> Parts:
        parts = assemble(config)
        apply = parts.backend.apply

        def stop(update: Update) -> Any:
            if update.step == step:
                os.kill(os.getpid(), signal.SIGINT)
            return apply(update)

        parts.backend.apply = stop  # type: ignore[method-assign]
        return parts

    return build


def run_of(config: Config) -> Path:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return path


def outcome(path: Path) -> tuple[list[Any], list[Any]]:
    """All that a run found out: its journal without costs, times and memory, and its evaluations."""
    apart = {"cost", "seconds", "peak_memory_bytes", "checksum", "previous"}
    journal = [{k: v for k, v in record.items() if k not in apart} for record in read_journal(path / "journal.jsonl")]
    rows = [row for row in read_rows(path / "metrics.jsonl") if row["kind"] == "evaluation"]
    return journal, [(row["step"], row["split"], row["rewards"]) for row in rows]


@pytest.mark.parametrize(("space", "sigma"), SPACES.values(), ids=SPACES)
def test_a_resumed_run_is_the_undisturbed_run(tmp_path: Path, space: SpaceConfig, sigma: float) -> None:
    config = job(make_tiny_folder(tmp_path / "model", "llama"), tmp_path / "whole", space, sigma)
    summary = train(config, json_mode=True)
    journal, evaluations = outcome(run_of(config))
    assert len({record["digest"] for record in journal}) == 3, "every step must move, or the test proves nothing"
    assert "independent of the batch" in summary["decoding"]

    broken = replace(config, runs_dir=str(tmp_path / "broken"))
    with pytest.raises(Interrupted):
        train(broken, json_mode=True, build=stopped_in(0))
    with pytest.raises(Interrupted):
        resume(run_of(broken), json_mode=True, build=stopped_in(2))
    again = resume(run_of(broken), json_mode=True)
    assert again["digest"] == summary["digest"]
    assert outcome(run_of(broken)) == (journal, evaluations)
