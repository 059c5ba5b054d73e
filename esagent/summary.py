"""The outcome of a run: base against trained agent on every split, and what it cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from esagent.config.schema import Config
from esagent.core.ledger import Limit, model_flops, total
from esagent.evaluate import Evaluation
from esagent.stats.auc import auc
from esagent.stats.intervals import paired_gain

_log = logging.getLogger(__name__)


def choose(evaluations: Sequence[Evaluation]) -> int:
    """The step of the best mean reward; of equally good states the latest."""
    return max(evaluations, key=lambda evaluation: (evaluation.mean, evaluation.step)).step


def comparison(base: Evaluation, trained: Evaluation) -> dict[str, Any]:
    """Base against trained agent on the tasks scored for both, with a 95% interval of the gain over tasks.

    A module that no episode reached has the signal None.
    """
    tasks = [task for task in base.rewards if task in trained.rewards]
    before = [base.rewards[task] for task in tasks]
    after = [trained.rewards[task] for task in tasks]
    gain, low, high = paired_gain(before, after, tasks)
    modules = dict.fromkeys([*base.signals, *trained.signals])
    return {
        "n": len(tasks),
        "base": float(np.mean(before)),
        "trained": float(np.mean(after)),
        "gain": gain,
        "gain_interval": [low, high],
        "signals": {m: {"base": base.signals.get(m), "trained": trained.signals.get(m)} for m in modules},
    }


def curve_summary(evaluations: Sequence[Mapping[str, Any]], costs: Sequence[float], limit: Limit) -> dict[str, Any]:
    """The learning curve of the unperturbed agent on the pool in two numbers: `auc` over the budget, and `final`.

    evaluations: rows of metrics. costs: of the steps that count, in the unit of the budget. What evaluations cost is no
    part of it; the last value holds for what a run left of its budget. A run without steps has its base value for both.
    """
    curve = {row["step"]: row["mean"] for row in evaluations if row["split"] == "pool" and row["step"] <= len(costs)}
    steps = sorted(curve)
    spent = [0.0, *accumulate(costs)]
    means = [curve[step] for step in steps]
    return {"auc": auc([spent[step] for step in steps], means, limit.amount or None), "final": means[-1]}


def budget_summary(limit: Limit, costs: Sequence[float]) -> dict[str, Any]:
    """How the budget was spent: by the steps that count, and by one that went beyond it and does not.

    costs: of every step done, in the unit of the budget. Warns when not one of them counts.
    """
    counted = limit.counted(costs)
    spent, beyond = sum(costs[:counted]), sum(costs[counted:])
    if costs and not counted:
        _log.warning(
            "budget.%s=%g is less than one step took (%g): the result is the agent that the run started from",
            limit.kind,
            limit.amount,
            beyond,
        )
    return {
        "kind": limit.kind,
        "limit": limit.amount,
        "spent": spent,
        "unspent": limit.amount - spent,
        "uncounted": beyond,
    }


def cost_summary(
    steps: Sequence[Mapping[str, Any]],
    evaluations: Sequence[Mapping[str, Any]],
    counted: int,
    parameters: int,
    calibration: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Cost from the rows of steps, of evaluations and of a calibration, as in metrics.jsonl: each of them apart.

    counted: how many of the steps fit into the budget; a further one is told apart from them.
    """
    training, checks = total(steps[:counted]), total(map(_flat, evaluations))
    completion, generation, seconds = (training[n] for n in ("completion_tokens", "generation_seconds", "seconds"))
    ledger = {"training": training, "uncounted": total(steps[counted:]), "evaluation": checks}
    if calibration:
        ledger["calibration"] = total(map(_flat, calibration))
    return {
        "tokens": {
            "prompt": training["prompt_tokens"],
            "completion": completion,
            "shared": training["shared_tokens"],
            "evaluation": checks["prompt_tokens"] + checks["completion_tokens"],
        },
        "flops": training["flops"],
        "episodes": training["episodes"],
        "tokens_per_second": completion / generation if generation > 0 else None,
        "outside_generation_share": 1.0 - generation / seconds if seconds > 0 else None,
        "peak_memory_bytes": max((row["peak_memory_bytes"] for row in steps), default=None),
        "parameters": parameters,
        "ledger": {name: {**sums, "model_flops": model_flops(sums, parameters)} for name, sums in ledger.items()},
    }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of an evaluation with the names of a step's."""
    cost = row["cost"]
    return {
        **cost,
        "episodes": row.get("episodes", len(row["tasks"])),  # a row of an earlier version lacks it
        "trajectory_tokens": row.get("trajectory_tokens"),
        "generation_seconds": cost["seconds"],
        "seconds": row["seconds"],
    }


def decoding(config: Config) -> str:
    """How answers were decoded, in words: a closed choice among tools is an easier question than free text, and unless
    the backend is deterministic, tokens nearly tied may go either way with what else is in the batch."""
    form = "constrained choice of tools" if config.agent.constrained else "free text"
    return f"greedy, {form}, {'independent of' if config.backend.deterministic else 'near ties depend on'} the batch"
