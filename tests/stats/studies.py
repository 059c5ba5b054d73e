"""Small run directories with chosen results: what `esagent stats` reads, and nothing else of a run."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from esagent.config.change import changed
from esagent.config.compose import compose
from esagent.config.export import to_dict
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import write_manifest
from esagent.runs.metrics import read_rows
from esagent.runs.outcome import write_outcome
from esagent.runs.seal import sealed


def write_run(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    curve: Mapping[int, float] | None = None,
    heldout: tuple[float, float] | None = (0.1, 0.3),
    finished: bool = True,
    costs: Sequence[int] = (),
    steps: Sequence[Mapping[str, Any]] = (),
    pool: Mapping[str, Any] | None = None,
    summary: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Path:
    """A run of 4 steps with its pool curve {step: mean} and held-out (base, trained); costs: tokens of its steps.

    steps: what else rows of steps hold; pool: what else evaluations of the pool do; summary, manifest: what else is in
    these.
    """
    path.mkdir(parents=True)
    config = _settings(*overrides)
    (path / "config.yaml").write_text(yaml.safe_dump(config))
    rows: list[dict[str, Any]] = [{"kind": "step", "step": 0, "reward_mean": 0.9, "reward_std": 0.1}]
    spent = [{"prompt_tokens": tokens - 10, "completion_tokens": 10} for tokens in costs]
    rows = [rows[0] | {"step": step} | tokens for step, tokens in enumerate(spent)] or rows
    rows = [rows[0] | {"step": step} | dict(own) for step, own in enumerate(steps)] or rows
    for step, mean in (curve or {0: 0.2, 4: 0.6}).items():
        rows.append({"kind": "evaluation", "step": step, "split": "pool", "mean": mean, "rewards": [], "tasks": []})
        rows[-1] |= pool or {}
        rows.append({"kind": "evaluation", "step": step, "split": "validation", "mean": 0.99})
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if finished:
        outcome: dict[str, Any] = {"seed": config["seed"], "seconds": 12.0, "pool": {"gain": 0.4}, **(summary or {})}
        if costs:
            budget = config["budget"]["tokens"]
            outcome |= {"steps": len(costs), "budget": {"kind": "tokens", "limit": budget, "spent": sum(costs)}}
        if heldout:
            outcome["heldout"] = {"base": heldout[0], "trained": heldout[1], "gain": heldout[1] - heldout[0]}
        (path / "summary.json").write_text(json.dumps(outcome))
    return vouch(path, **manifest)


def vouch(path: Path, **manifest: Any) -> Path:
    """Write the manifest and seal everything, as the run that held what lies in `path` would have done."""
    run = RunDirectory(path)
    settings = yaml.safe_load(run.config.read_text())
    seal = write_manifest(run, {"config": settings, "initial_digest": "", "model_hash": "", **manifest})["checksum"]
    rows = [row if row["kind"] == "step" else sealed(row, seal) for row in read_rows(run.metrics)]
    run.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if run.summary.exists():
        write_outcome(run, json.loads(run.summary.read_text()), seal)
    return path


@functools.cache
def _settings(*overrides: str) -> dict[str, Any]:
    return changed(_base(), overrides)


@functools.cache
def _base() -> dict[str, Any]:
    return to_dict(
        compose(["budget.steps=4", "budget.tasks_per_step=3", "budget.task_sampling=uniform", "algorithm.directions=5"])
    )


def write_study(folder: Path, finals: Mapping[str, Sequence[float]], **options: Any) -> None:
    """One run per arm (an override) and seed 0, 1, ...; its curve rises from 0.2 in a straight line to the value."""
    for arm, values in finals.items():
        for seed, value in enumerate(values):
            name = f"{arm.replace('=', '-')}-s{seed}"
            write_run(folder / name, [arm, f"seed={seed}"], curve={0: 0.2, 4: value}, **options)
