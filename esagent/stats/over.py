"""Runs laid out over a numeric setting: how every arm's difference to the baseline responds to it.

Runs that differ in that setting and the seed alone are one arm. An arm at some value is paired with the baseline at the
same value, or with the baseline's only one, which a setting that it does not use need not be varied for. Where there is
one arm alone, it is compared with itself at the smallest value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.config.nearest import suggest, suggest_path
from esagent.config.study import METRICS
from esagent.errors import ConfigError
from esagent.stats.arms import label_arms, objective_problem, unequal_budgets
from esagent.stats.compare import choose_baseline
from esagent.stats.response import ResponseCurve, response_curve
from esagent.stats.results import Result, measure


@dataclass(frozen=True)
class Response:
    """`curves` {arm: its curve} over the values of the setting `over`; every point is of the same seeds."""

    over: str
    metric: str
    baseline: str
    confidence: float
    seeds: tuple[int, ...]
    curves: Mapping[str, ResponseCurve]


_Laid = dict[str, dict[float, dict[int, Result]]]
"""{arm: {value of the setting: {seed: run}}}"""


def respond(
    results: Sequence[Result],
    over: str,
    *,
    metric: str,
    baseline: str | None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
) -> Response:
    """Difference to `baseline` (an arm's label or a part of it) over the setting `over`, a dotted path.

    Raises ConfigError: an unknown metric, setting or baseline, a value that is no number, one value alone, missing
    pairs, or budgets of different kinds.
    """
    if metric not in METRICS:
        raise ConfigError(f"--metric {metric}: {suggest(metric, METRICS)}")
    laid = _lay_out(results, over, by)
    base = next(iter(laid)) if len(laid) == 1 else choose_baseline(baseline, list(laid))
    seeds = tuple(sorted({seed for arm in laid.values() for runs in arm.values() for seed in runs}))
    _require_complete(laid, seeds, over)
    used = [run for arm in laid.values() for runs in arm.values() for run in runs.values()]
    if metric == "auc" and len({run.unit for run in used}) > 1:
        raise ConfigError(*unequal_budgets([run.config for run in used]))
    budget = min(run.budget for run in used)
    values = {
        arm: {x: [measure(runs[seed], metric, budget).value for seed in seeds] for x, runs in by_x.items()}
        for arm, by_x in laid.items()
    }
    curves = {}
    for arm, by_x in values.items():
        if arm == base and len(values) > 1:
            continue
        xs = sorted(by_x)
        alone = {xs[0]: by_x[xs[0]]} if len(values) == 1 else values[base]
        pairs = [zip(by_x[x], _reference(alone, x, base, over), strict=True) for x in xs]
        d = [[value - reference for value, reference in pair] for pair in pairs]
        curves[arm] = response_curve(xs, d, confidence)
    if len(values) == 1:
        base = f"{over}={min(values[base]):g}"
    return Response(over, metric, base, confidence, seeds, curves)


def _lay_out(results: Sequence[Result], over: str, by: Sequence[str]) -> _Laid:
    known = list(dict.fromkeys(key for result in results for key in result.config))
    if over not in known:
        raise ConfigError(f"--over {over}: no run has this setting; {suggest_path(over, known)}")
    rest = [{key: value for key, value in result.config.items() if key != over} for result in results]
    mixed = objective_problem(rest, by)
    if mixed:
        raise ConfigError(mixed)
    laid: _Laid = {}
    for result, label in zip(results, label_arms(rest, by), strict=True):
        x = result.config[over]
        if isinstance(x, bool) or not isinstance(x, int | float):
            raise ConfigError(f"--over {over}: is {x} in {result.path}; a setting with numbers is needed")
        runs = laid.setdefault(label, {}).setdefault(float(x), {})
        if result.summary is None:
            continue
        if result.seed in runs:
            where = f"arm {label}, {over}={x:g}, seed {result.seed}"
            raise ConfigError(f"{where}: 2 finished runs ({runs[result.seed].path}, {result.path}); name one of them")
        runs[result.seed] = result
    if len({x for arm in laid.values() for x in arm}) < 2:
        raise ConfigError(f"--over {over}: all runs have the same value; a response needs at least two")
    return laid


def _require_complete(laid: _Laid, seeds: Sequence[int], over: str) -> None:
    problems = [
        f"arm {arm}, {over}={x:g}, seed {seed}: no finished run; others have one"
        for arm, by_x in laid.items()
        for x, runs in by_x.items()
        for seed in seeds
        if seed not in runs
    ]
    if problems or not seeds:
        raise ConfigError(*(problems or ["none of these runs is finished"]))


def _reference(baseline: Mapping[float, list[float]], x: float, label: str, over: str) -> list[float]:
    """The baseline's values that an arm at x is paired with."""
    if x in baseline:
        return baseline[x]
    if len(baseline) == 1:
        return next(iter(baseline.values()))
    raise ConfigError(f"baseline {label}: has no runs at {over}={x:g}, and at several other values; which is meant?")
