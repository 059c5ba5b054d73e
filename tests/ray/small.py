"""Runs of a second or two over tiny models, with workers and without: the same but for the backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from esagent.config.compose import compose
from esagent.config.schema import Config
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.train import train

SPACES = {
    "bias": ["space=bias", "space.layers=2-3", "sigma.start=1"],
    "core": ["space=core", "space.layers=2-3", "space.rank=4", "space.positions=all", "sigma.start=0.3"],
    "lowrank": ["space=lowrank", "space.scale=relative", "space.rank=2", "sigma.start=0.3", "algorithm.step.start=0.3"],
    "full": ["space=full", "space.scale=relative", "sigma.start=0.3", "algorithm.step.start=0.3"],
}


def config(model: Path, runs_dir: Path, space: str, *overrides: str, seed: int = 5) -> Config:
    """Vowels written by the tiny model in the folder `model`; not a bit hangs on what else is in a batch."""
    return compose(
        [
            f"model={model}",
            "model.dtype=float32",
            "agent.target=tests.backends.letters:LetterAgent",
            "task.target=tests.backends.letters:LetterFamily",
            *("task.pool=6", "task.validation=0", "task.heldout=4"),
            "allocation=joint",
            "algorithm.directions=3",
            *("budget.steps=3", "budget.tasks_per_step=3", "budget.evaluate_every=0", "budget.snapshot_every=1"),
            *SPACES[space],
            f"seed={seed}",
            f"runs_dir={runs_dir}",
            *overrides,
        ]
    )


def alone(model: Path, runs_dir: Path, space: str, *overrides: str) -> list[dict[str, Any]]:
    """Records of the run in one process."""
    return records(
        config(model, runs_dir, space, "backend=hf", "backend.threads=1", "backend.deterministic=true", *overrides)
    )


def spread(model: Path, runs_dir: Path, space: str, workers: int, *overrides: str) -> list[dict[str, Any]]:
    """Records of the run with `workers`."""
    pool = ["backend=ray", f"backend.workers={workers}", "backend.threads=1", "backend.deterministic=true"]
    return records(config(model, runs_dir, space, *pool, *overrides))


def records(job: Config) -> list[dict[str, Any]]:
    """The journal of a run of `job`."""
    return read_journal(RunDirectory(Path(train(job, json_mode=True)["run"])).journal)


def story(told: list[dict[str, Any]]) -> list[Any]:
    """What of a journal must not hang on workers."""
    return [(r["rewards"], r["tasks"], r["update"], r["digest"], r["moved"], r["signals"]) for r in told]


def events(told: list[dict[str, Any]], kind: str = "") -> list[dict[str, Any]]:
    """What became of workers."""
    return [event for r in told for event in r["workers"]["events"] if kind in ("", event["event"])]
