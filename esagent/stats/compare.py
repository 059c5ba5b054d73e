"""A study in numbers: every arm against the baseline over paired seeds.

The unit is the training seed, so what is said is about the method, at n = number of seeds; the tasks that a run is
scored on are averaged inside its metric.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from esagent.config.nearest import suggest
from esagent.config.schema import Objective
from esagent.config.study import METRICS
from esagent.errors import ConfigError
from esagent.runs.matching import forked_from
from esagent.stats.arms import label_arms, objective_problem, pairing_problems, unequal_budgets
from esagent.stats.equivalence import Equivalence, equivalence
from esagent.stats.holm import holm
from esagent.stats.inversion import Limits, lower_bound, sign_flip_interval, upper_bound
from esagent.stats.pairs import Grid, complete
from esagent.stats.results import Measure, Result, measure
from esagent.stats.signflip import SignFlip, sign_flip
from esagent.stats.student import Student, t_test


@dataclass(frozen=True)
class Arm:
    """One arm's metric by seed."""

    label: str
    measures: dict[int, Measure]
    runs: dict[int, Path]

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean([m.value for m in self.measures.values()]))

    @property
    def deviation(self) -> float:
        """Standard deviation over seeds (n - 1); nan for one seed."""
        values = [m.value for m in self.measures.values()]
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    @property
    def gain(self) -> float:
        """Mean gain over the base agent."""
        return float(np.mean([m.gain for m in self.measures.values()]))


@dataclass(frozen=True)
class Comparison:
    """arm - baseline, paired by seed.

    bounds: one-sided, each of the report's confidence. p_holm: the two-sided p, corrected for all arms compared.
    equivalence: at the report's margin, with alpha = 1 - confidence; None without a margin.
    """

    arm: str
    differences: dict[int, float]
    test: SignFlip
    interval: Limits
    bounds: Limits
    student: Student
    p_holm: float
    equivalence: Equivalence | None


@dataclass(frozen=True)
class Report:
    """Everything `esagent stats` shows. `budget`: what the area is taken over, and its unit (auc alone)."""

    metric: str
    baseline: str
    confidence: float
    seeds: tuple[int, ...]
    budget: tuple[float, str] | None
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]
    margin: float | None = None


def compare(
    results: Sequence[Result],
    *,
    metric: str,
    baseline: str | None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    margin: float | None = None,
) -> Report:
    """Test every arm against `baseline`, an arm's label, or a setting, a value or else any part of it that no
    other has.

    margin: ask also whether arms are equivalent within it, or no better by it. Raises ConfigError: an unknown metric or
    baseline, one arm alone, incomplete pairs, or a run without the metric.
    """
    if metric not in METRICS:
        raise ConfigError(f"--metric {metric}: {suggest(metric, METRICS)}")
    labels = label_arms([result.config for result in results], by)
    mixed = objective_problem([result.config for result in results], by)
    if mixed:
        raise ConfigError(mixed)
    base = choose_baseline(baseline, list(dict.fromkeys(labels)))
    study = complete(results, labels)
    used = [run for runs in study.grid.values() for run in runs.values()]
    units = {run.unit for run in used}
    if metric == "auc" and len(units) > 1:
        raise ConfigError(*unequal_budgets([run.config for run in used]))
    budget = min(run.budget for run in used)
    arms = tuple(
        Arm(
            label,
            {seed: measure(run, metric, budget) for seed, run in runs.items()},
            {seed: run.path for seed, run in runs.items()},
        )
        for label, runs in study.grid.items()
    )
    (reference,) = (arm for arm in arms if arm.label == base)
    others = [arm for arm in arms if arm is not reference]
    corrected = holm({arm.label: sign_flip(_differences(arm, reference)).p_two_sided for arm in others})
    comparisons = tuple(_compare(arm, reference, confidence, margin, corrected[arm.label]) for arm in others)
    notes = [
        *pairing_problems([run.config for run in used]),
        *_left(study.grid),
        *(f"arm {arm} is supervised: trained on the log-likelihood of gold outputs" for arm in _supervised(study.grid)),
        *(f"{run.path} is a fork: its first steps had other settings" for run in used if forked_from(run.path)),
        *(f"{run.path} is passed over: it is not finished, another of its pair is" for run in study.passed_over),
    ]
    return Report(
        metric,
        base,
        confidence,
        study.seeds,
        (budget, units.pop()) if metric == "auc" else None,
        arms,
        comparisons,
        tuple(notes),
        margin,
    )


def _left(grid: Grid) -> list[str]:
    """One line when runs left some of their budget, because one more step did not fit into it: the mean of each arm."""
    spent = {}
    for arm, runs in grid.items():
        shares = [run.spent_share for run in runs.values() if run.spent_share is not None]
        if shares:
            spent[arm] = sum(shares) / len(shares)
    if all(share == 1 for share in spent.values()):
        return []
    return [f"spent of the budget: {', '.join(f'{arm} {share:.1%}' for arm, share in spent.items())}"]


def _supervised(grid: Grid) -> list[str]:
    return [
        arm
        for arm, runs in grid.items()
        if any(run.config.get("objective") == Objective.likelihood.value for run in runs.values())
    ]


def _differences(arm: Arm, baseline: Arm) -> list[float]:
    return [m.value - baseline.measures[seed].value for seed, m in arm.measures.items()]


def _compare(arm: Arm, baseline: Arm, confidence: float, margin: float | None, p_holm: float) -> Comparison:
    values = _differences(arm, baseline)
    return Comparison(
        arm.label,
        dict(zip(arm.measures, values, strict=True)),
        sign_flip(values),
        sign_flip_interval(values, confidence),
        Limits(lower_bound(values, confidence), upper_bound(values, confidence)),
        t_test(values),
        p_holm,
        None if margin is None else equivalence(values, margin, 1.0 - confidence),
    )


def choose_baseline(baseline: str | None, labels: Sequence[str]) -> str:
    """The label that `baseline` means: it, or the only one that it is a part of. Raises ConfigError, one line."""
    if len(labels) == 1:
        raise ConfigError("all these runs are of one arm: their settings differ in the seed alone; name more runs")
    listed = ", ".join(repr(label) for label in labels)
    if baseline is None:
        raise ConfigError(f"--baseline is missing: choose from {listed}")
    if baseline in labels:
        return baseline
    whole = [label for label in labels if baseline in _parts(label)]  # es is no es_at_scale
    partly = whole or [label for label in labels if baseline in label]
    if len(partly) == 1:
        return partly[0]
    if partly:
        raise ConfigError(f"--baseline {baseline}: could be {', '.join(map(repr, partly))}")
    parts = {part: label for label in labels for part in _parts(label)}
    near = difflib.get_close_matches(baseline, [*labels, *parts], n=1, cutoff=0.5)
    hint = f"did you mean {parts.get(near[0], near[0])}? " if near else ""
    raise ConfigError(f"--baseline {baseline}: {hint}choose from {listed}")


def _parts(label: str) -> list[str]:
    """The settings of a label, as in `algorithm.name=es`, what their last words say (`name=es`), and their values."""
    settings = label.split()
    ends = [f"{key.rpartition('.')[2]}={value}" for key, _, value in (text.partition("=") for text in settings)]
    return [*settings, *ends, *(text.partition("=")[2] for text in settings)]
