"""Arms compared task by task, each training seed by itself: what `esagent stats --level tasks` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from esagent.errors import ConfigError
from esagent.runs.metrics import read_rows
from esagent.stats.arms import label_arms, objective_problem
from esagent.stats.compare import choose_baseline
from esagent.stats.items import ItemComparison, Items, compare_items
from esagent.stats.pairs import complete
from esagent.stats.results import Result

METRICS = ("final", "heldout")


@dataclass(frozen=True)
class TaskReport:
    """Comparisons by arm and seed, none of them pooled."""

    metric: str
    baseline: str
    confidence: float
    comparisons: tuple[ItemComparison, ...]


def compare_tasks(
    results: Sequence[Result], *, metric: str, baseline: str | None, by: Sequence[str] = (), confidence: float = 0.95
) -> TaskReport:
    """Every arm against `baseline` over the tasks of each seed.

    Raises ConfigError: a metric that no single task has, an unknown baseline, incomplete pairs, other tasks in the two.
    """
    if metric not in METRICS:
        listed = ", ".join(METRICS)
        raise ConfigError(f"--metric {metric}: with --level tasks choose from {listed}; an area is of a whole run")
    configs = [result.config for result in results]
    labels = label_arms(configs, by)
    mixed = objective_problem(configs, by)
    if mixed:
        raise ConfigError(mixed)
    base = choose_baseline(baseline, list(dict.fromkeys(labels)))
    study = complete(results, labels)
    found = [
        compare_items(items_of(study.grid[base][seed], metric, base), items_of(run, metric, arm), confidence)
        for arm, runs in study.grid.items()
        if arm != base
        for seed, run in runs.items()
    ]
    return TaskReport(metric, base, confidence, tuple(found))


def items_of(result: Result, metric: str, arm: str) -> Items:
    """What the trained agent of a finished run earned task by task; tasks without a score are left out.

    Raises ConfigError when the run does not hold it.
    """
    summary = result.summary or {}
    split = "pool" if metric == "final" else "heldout"
    step = summary.get("steps", result.config["budget.steps"])
    step = step if metric == "final" else summary.get("selected_step", step)
    written = read_rows(result.path / "metrics.jsonl")
    rows = [row for row in written if row.get("split") == split and row["step"] == step]
    if not rows or not rows[-1].get("rewards"):
        raise ConfigError(f"{result.path}: metrics.jsonl has no rewards of the {split} tasks after step {step}")
    pairs = zip(rows[-1]["tasks"], rows[-1]["rewards"], strict=True)
    scored = [(str(task), float(reward)) for task, reward in pairs if reward is not None]
    return Items(arm, result.seed, tuple(task for task, _ in scored), tuple(reward for _, reward in scored))
