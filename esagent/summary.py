"""The outcome of a run: base against trained agent on every split, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from esagent.config.schema import Config
from esagent.evaluate import Evaluation
from esagent.stats.intervals import paired_gain


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


def cost_summary(steps: Sequence[Mapping[str, Any]], evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Cost from the rows of steps and of evaluations, as in metrics.jsonl: training alone, evaluation apart."""
    generation = sum(row["generation_seconds"] for row in steps)
    seconds = sum(row["seconds"] for row in steps)
    completion = sum(row["completion_tokens"] for row in steps)
    return {
        "tokens": {
            "prompt": sum(row["prompt_tokens"] for row in steps),
            "completion": completion,
            "shared": sum(row["shared_tokens"] for row in steps),
            "evaluation": sum(e["cost"]["prompt_tokens"] + e["cost"]["completion_tokens"] for e in evaluations),
        },
        "flops": sum(row["flops"] for row in steps),
        "episodes": sum(row["episodes"] for row in steps),
        "tokens_per_second": completion / generation if generation > 0 else None,
        "outside_generation_share": 1.0 - generation / seconds if seconds > 0 else None,
        "step_seconds": seconds,
        "evaluation_seconds": sum(row["seconds"] for row in evaluations),
        "peak_memory_bytes": max((row["peak_memory_bytes"] for row in steps), default=None),
    }


def decoding(config: Config) -> str:
    """How answers were decoded, in words: a closed choice among tools is an easier question than free text, and unless
    the backend is deterministic, tokens nearly tied may go either way with what else is in the batch."""
    form = "constrained choice of tools" if config.agent.constrained else "free text"
    return f"greedy, {form}, {'independent of' if config.backend.deterministic else 'near ties depend on'} the batch"
