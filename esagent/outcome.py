"""What an evaluation says: metrics of one agent or two, paired per task, with 95% intervals over tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esagent.core.episode import Episode
from esagent.evaluate import mean_signals
from esagent.stats.intervals import mean_interval, paired_gain
from esagent.stats.pass_at_k import levels, pass_at_k


@dataclass(frozen=True)
class Behaviour:
    """What one agent did on the same tasks: one greedy episode each, and the same number of sampled ones (or none)."""

    greedy: list[Episode]
    sampled: list[Episode]


def metrics(behaviours: Mapping[str, Behaviour], tasks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Every metric with its value for each agent; for `base` and `trained` also the paired `gain`.

    tasks: ids that count, in order. Each value is {"mean", "interval": [low, high]}, of shares within [0, 1].

        greedy_reward, greedy_success: of the one greedy episode
        sampled_reward: mean over a task's samples
        pass@k: the unbiased estimate per task, then the mean over tasks
    """
    values = {name: _per_task(behaviour, tasks) for name, behaviour in behaviours.items()}
    found: dict[str, dict[str, Any]] = {}
    for metric in next(iter(values.values())):
        found[metric] = {}
        for name, value in values.items():
            mean, low, high = mean_interval(value[metric], tasks)
            if not metric.endswith("_reward"):  # a share; a reward's range is its family's affair
                low, high = np.clip([low, high], 0, 1).tolist()
            found[metric][name] = _stated(mean, low, high)
        if {"base", "trained"} <= values.keys():
            found[metric]["gain"] = _stated(*paired_gain(values["base"][metric], values["trained"][metric], tasks))
    return found


def signals(behaviours: Mapping[str, Behaviour], tasks: Collection[str]) -> dict[str, dict[str, float | None]]:
    """Per module the mean signal of each agent over its greedy episodes; None where no episode reached the module."""
    means = {
        name: mean_signals([e for e in behaviour.greedy if e.task.id in tasks])
        for name, behaviour in behaviours.items()
    }
    modules = dict.fromkeys(module for found in means.values() for module in found)
    return {module: {name: found.get(module) for name, found in means.items()} for module in modules}


def rewards(behaviour: Behaviour, tasks: Sequence[str]) -> dict[str, Any]:
    """`greedy`: one reward per task; `sampled`: a list of rewards per task."""
    greedy, sampled = _by_task(behaviour.greedy), _by_task(behaviour.sampled)
    found: dict[str, Any] = {"greedy": [greedy[task][0].score.reward for task in tasks]}
    if sampled:
        found["sampled"] = [[e.score.reward for e in sampled[task]] for task in tasks]
    return found


def _per_task(behaviour: Behaviour, tasks: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Metric -> one value per task, shape [len(tasks)]."""
    greedy, sampled = _by_task(behaviour.greedy), _by_task(behaviour.sampled)
    columns: dict[str, list[float]] = {
        "greedy_reward": [greedy[task][0].score.reward for task in tasks],
        "greedy_success": [float(greedy[task][0].score.success) for task in tasks],
    }
    if sampled:
        drawn = [sampled[task] for task in tasks]
        columns["sampled_reward"] = [float(np.mean([e.score.reward for e in episodes])) for episodes in drawn]
        right = [sum(e.score.success for e in episodes) for episodes in drawn]
        samples = len(drawn[0])
        for k in levels(samples):
            columns[f"pass@{k}"] = [pass_at_k(samples, c, k) for c in right]
    return {name: np.array(column) for name, column in columns.items()}


def _by_task(episodes: Sequence[Episode]) -> dict[str, list[Episode]]:
    found: dict[str, list[Episode]] = {}
    for episode in episodes:
        found.setdefault(episode.task.id, []).append(episode)
    return found


def _stated(mean: float, low: float, high: float) -> dict[str, Any]:
    return {"mean": mean, "interval": [low, high]}
