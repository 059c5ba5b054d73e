"""What a run writes down: its circumstances, and of each step a journal record (to replay) and a row of metrics."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esagent.allocation.base import Allocation
from esagent.assemble import Facts
from esagent.backends.base import Applied
from esagent.core.episode import Cost, Task
from esagent.core.population import Population, Update
from esagent.evaluate import Rollout, mean_signals
from esagent.runs.atomic import write_json
from esagent.runs.codec import encode_population, encode_update
from esagent.runs.directory import RunDirectory
from esagent.runs.manifest import build_manifest, differences
from esagent.runs.parent import Start

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepResult:
    """Everything that happened in one step. `credit` is what the step left; `seconds` its wall time."""

    allocation: Allocation
    sigma: Mapping[str, float]
    population: Population
    tasks: list[Task]
    rollout: Rollout
    update: Update
    applied: Applied
    blamed: Mapping[str, int]
    credit: Mapping[str, float]
    cost: Cost
    seconds: float


def journal_record(result: StepResult) -> dict[str, Any]:
    """The step as the journal keeps it. `rewards` are [members][kept tasks]."""
    return {
        "step": result.population.step,
        "population": encode_population(result.population),
        "allocation": result.allocation.counts(),
        "tasks": [task.id for task in result.tasks],
        "dropped": result.rollout.dropped,
        "rewards": result.rollout.rewards,
        "update": encode_update(result.update),
        "digest": result.applied.digest,
        "cosine": result.applied.cosine,
        "unmoved": result.applied.unmoved,
        "moved": result.applied.moved,
        "blamed": result.blamed,
        "credit": result.credit,
        "cost": result.cost,
        "seconds": result.seconds,
    }


def metrics_row(result: StepResult) -> dict[str, Any]:
    """The step in numbers for people and plots."""
    fitness = result.rollout.rewards.mean(axis=1)
    cost = result.cost
    return {
        "kind": "step",
        "step": result.population.step,
        "reward_mean": float(fitness.mean()),
        "reward_std": float(fitness.std()),
        "tied_pairs": _tied_pairs(fitness, result.population.antithetic),
        "signals": mean_signals([e for e in result.rollout.episodes if not e.score.unscored]),
        "sigma": result.sigma,
        "step_size": result.update.step_size,
        "directions": result.allocation.counts(),
        "moved": result.applied.moved,
        "cosine": result.applied.cosine,
        "unmoved": result.applied.unmoved,
        "blamed": result.blamed,
        "credit": result.credit,
        "episodes": len(result.rollout.episodes),
        "unscored_tasks": len(result.rollout.dropped),
        "prompt_tokens": cost.prompt_tokens,
        "completion_tokens": cost.completion_tokens,
        "shared_tokens": cost.shared_tokens,
        "flops": cost.flops,
        "tokens_per_second": cost.completion_tokens / cost.seconds if cost.seconds > 0 else 0.0,
        "seconds": result.seconds,
        "generation_seconds": cost.seconds,
        "outside_share": 1.0 - cost.seconds / result.seconds if result.seconds > 0 else 0.0,
        "peak_memory_bytes": peak_memory(),
    }


def note_circumstances(run: RunDirectory, seed: int, facts: Facts, start: Start | None) -> None:
    """Write down what this run's numbers depend on, or warn where a resumed run meets other circumstances.

    start: the state of another run that a new one begins with; None for the base model.
    """
    manifest = build_manifest(
        config=run.config.read_text(),
        model_hash=facts.model_hash,
        seeds={"run": seed},
        dtype=facts.dtype,
        threads=facts.threads,
        device=facts.device,
        init=None if start is None else asdict(start),
    )
    if not run.manifest.exists():
        write_json(run.manifest, manifest)
        return
    for line in differences(json.loads(run.manifest.read_text()), manifest):
        _log.warning("%s: since the run was started, %s", run.path, line)


def peak_memory() -> int:
    """Largest memory of this process so far in bytes: on the CUDA device where one was used, else resident in RAM."""
    import torch

    if torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0:
        return int(torch.cuda.max_memory_allocated())
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return int(psutil.Process().memory_info().rss)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _tied_pairs(fitness: NDArray[np.float64], antithetic: bool) -> float:
    """Share of directions whose two members scored the same, and so say nothing; nan without pairs."""
    return float((fitness[0::2] == fitness[1::2]).mean()) if antithetic else float("nan")
