"""What a run writes down: its circumstances, and of each step a journal record (to replay) and a row of metrics."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esagent.allocation.base import Allocation
from esagent.assemble import Facts
from esagent.backends.base import Applied, Backend, Distributed
from esagent.config.export import to_dict
from esagent.config.schema import Config, UpdateNorm
from esagent.core.episode import Cost, Task
from esagent.core.ledger import trajectory_tokens
from esagent.core.population import Population, Update
from esagent.credit.belief import Belief
from esagent.errors import RunError
from esagent.evaluate import Rollout, mean_signals
from esagent.guards.harness import suspects
from esagent.judging import Judgement
from esagent.runs.codec import encode_population, encode_update
from esagent.runs.directory import RunDirectory
from esagent.runs.jsonio import plain, restore
from esagent.runs.manifest import build_manifest, differences
from esagent.runs.parent import Start

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepResult:
    """Everything that happened in one step. `before` and `belief`: what was believed of the modules, and what the step
    left of it; `seconds`: its wall time; `restored`: members left the centre as it was (None: nobody looked)."""

    allocation: Allocation
    population: Population
    tasks: list[Task]
    rollout: Rollout
    update: Update
    applied: Applied
    judgement: Judgement
    before: Belief
    belief: Belief
    cost: Cost
    seconds: float
    episodes_sha256: str
    norm: UpdateNorm = UpdateNorm.block
    restored: bool | None = None
    workers: Mapping[str, Any] | None = None


def begin_counting(backend: Backend) -> None:
    """From now on messages to workers count as those of a step, if there are workers."""
    if isinstance(backend, Distributed):
        backend.mark()


def told_of_workers(backend: Backend) -> dict[str, Any] | None:
    """Messages since then, and what became of workers; None where there are none."""
    return backend.report() if isinstance(backend, Distributed) else None


def journal_record(result: StepResult) -> dict[str, Any]:
    """The step as the journal keeps it, and as it reads it back. `rewards` are [members][kept tasks]."""
    judgement, suspect = result.judgement, suspects(result.rollout.episodes)
    record = {
        "step": result.population.step,
        "population": encode_population(result.population),
        "allocation": result.allocation.counts(),
        "target": result.allocation.target,
        "sigma": result.allocation.sigma,
        "step_scale": result.allocation.step_scale,
        "update_norm": result.norm,
        "tasks": [task.id for task in result.tasks],
        "dropped": result.rollout.dropped,
        "restored": result.restored,
        "suspect": len(suspect),
        "suspect_reason": suspect[0] if suspect else "",
        "objective": result.rollout.objective,
        "rewards": result.rollout.rewards,
        "signals": mean_signals([e for e in result.rollout.episodes if not e.score.unscored]),
        "update": encode_update(result.update),
        "digest": result.applied.digest,
        "cosine": result.applied.cosine,
        "unmoved": result.applied.unmoved,
        "moved": result.applied.moved,
        "blamed": judgement.members,
        "blamed_unperturbed": judgement.unperturbed,
        "judged": {"source": judgement.source, **asdict(judgement.judged)},
        "credit_before": result.before.credit,
        "credit": result.belief.credit,
        "reached": result.belief.reached,
        "cost": result.cost,
        "trajectory_tokens": sum(
            trajectory_tokens(e.trajectory.turns) for e in (*result.rollout.episodes, *judgement.episodes)
        ),
        "seconds": result.seconds,
        "peak_memory_bytes": peak_memory(),
        "episodes_sha256": result.episodes_sha256,
        **({"workers": result.workers} if result.workers else {}),
    }
    restored: dict[str, Any] = restore(plain(record, lossless=True))
    return restored


def metrics_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A journal record in numbers for people and plots: all of metrics.jsonl about a step follows from it."""
    fitness = np.array(record["rewards"], dtype=np.float64).mean(axis=1)
    cost, seconds = record["cost"], record["seconds"]
    return {
        "kind": "step",
        "step": record["step"],
        "reward_mean": float(fitness.mean()),
        "reward_std": float(fitness.std()),
        "tied_pairs": _tied_pairs(fitness, record["population"]["antithetic"]),
        "signals": record["signals"],
        "sigma": record["sigma"],
        "step_size": record["update"]["step_size"],
        "directions": record["allocation"],
        "signal": expected_signal(record),
        "moved": record["moved"],
        "cosine": record["cosine"],
        "unmoved": record["unmoved"],
        "blamed": record["blamed"],
        "blamed_unperturbed": record.get("blamed_unperturbed"),
        "credit": record["credit"],
        "reached": record.get("reached"),
        "objective": record["objective"],
        "episodes": len(record["rewards"]) * len(record["tasks"]),
        "unscored_tasks": len(record["dropped"]),
        "prompt_tokens": cost["prompt_tokens"],
        "completion_tokens": cost["completion_tokens"],
        "shared_tokens": cost["shared_tokens"],
        "trajectory_tokens": record.get("trajectory_tokens"),  # a journal of an earlier version lacks it
        "flops": cost["flops"],
        "tokens_per_second": cost["completion_tokens"] / cost["seconds"] if cost["seconds"] > 0 else 0.0,
        "seconds": seconds,
        "generation_seconds": cost["seconds"],
        "outside_share": 1.0 - cost["seconds"] / seconds if seconds > 0 else 0.0,
        "peak_memory_bytes": record["peak_memory_bytes"],
        **_messages(record.get("workers")),
    }


def _messages(workers: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of a step with workers: how many there were in the end, and bytes, of the one that had most and of all."""
    if workers is None:
        return {}
    return {
        "workers": workers["workers"],
        "worker_message_bytes": workers["message_bytes"],
        "message_bytes": workers["all_message_bytes"],
        "text_bytes": workers["text_bytes"],
    }


def expected_signal(record: Mapping[str, Any]) -> dict[str, float]:
    """How far each block's step was meant to carry its signal, in step sizes.

    The factor on the step size, times 1 under `update_norm=block`, whose mean over a block's own directions estimates
    the same whatever their number, and times n_b / N under `total`; 0 without directions.
    """
    counts, scales = record["allocation"], record.get("step_scale", {})
    members = record["population"]["members"]
    directions = len(members) // (2 if record["population"]["antithetic"] else 1)
    total = record.get("update_norm") == UpdateNorm.total.value
    shares = {name: count / directions if total else float(count > 0) for name, count in counts.items()}
    return {name: scales.get(name, 1.0) * share for name, share in shares.items()}


def circumstances(
    config: Config,
    facts: Facts,
    text: str,
    initial_digest: str,
    start: Start | None = None,
    guards: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a run of `config`, whose config.yaml holds `text`: what its numbers depend on.

    start: the state of another run that a new one begins with; None for the base model. guards: what they found.
    """
    return build_manifest(
        config=text,
        settings=to_dict(config),
        model_hash=facts.model_hash,
        initial_digest=initial_digest,
        seeds={"run": config.seed},
        dtype=facts.dtype,
        threads=facts.threads,
        device=facts.device,
        deterministic=facts.deterministic,
        init=None if start is None else asdict(start),
        guards=guards,
    )


def compare_circumstances(run: RunDirectory, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Warn where a resumed run meets other circumstances. Raises RunError when its base weights are others."""
    if then["model_hash"] != now["model_hash"]:
        raise RunError(
            f"{run.path} was started from base weights with hash {then['model_hash']}; those at hand have "
            f"{now['model_hash']}, and the searched parameters mean nothing beside other weights"
        )
    for line in differences(then, now):
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
