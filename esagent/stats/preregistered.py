"""A preregistered study judged by its runs: which belong to it, which count, and whether they were started under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from esagent.config.study import Study
from esagent.errors import ConfigError
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import read_manifest
from esagent.runs.matching import forked_from
from esagent.runs.metrics import read_rows
from esagent.stats.arms import APART, objective_problem, pairing_problems, unequal_budgets
from esagent.stats.results import Result, measure
from esagent.stats.verdicts import Verdict, judge


@dataclass(frozen=True)
class Assessment:
    """verdicts: one per hypothesis. counts: {arm: runs that count}. values: {metric: {arm: {seed: value}}}.

    doubts: why this is not what was preregistered; empty when it is. notes: what else a reader should know.
    """

    study: Study
    verdicts: tuple[Verdict, ...]
    counts: dict[str, int]
    values: dict[str, dict[str, dict[int, float]]]
    used: tuple[Result, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]


def assess(study: Study, results: Sequence[Result]) -> Assessment:
    """Judge `study` by `results`, of which those in none of its arms or of other seeds are passed over.

    Raises ConfigError: a run of two arms, two finished runs of one arm and seed, runs of one arm with other settings,
    objectives or kinds of budget that cannot be compared, or a run without a metric.
    """
    sorted_in = _sort_in(study, results)
    finished = {label: {s: r for s, r in own.items() if r.summary is not None} for label, own in sorted_in.items()}
    excluded: dict[str, dict[int, str]] = {label: {} for label in study.arms}
    for label, own in sorted_in.items():
        for seed, run in own.items():
            why = _excluded(study, run)
            if why:
                excluded[label][seed] = why
                finished[label].pop(seed, None)
    used = [run for own in finished.values() for run in own.values()]
    _comparable(study, used)
    values = {
        metric: {
            label: {seed: measure(run, metric, min(r.budget for r in used)).value for seed, run in own.items()}
            for label, own in finished.items()
        }
        for metric in dict.fromkeys(hypothesis.metric for hypothesis in study.hypotheses)
    }
    unfinished = [r for own in sorted_in.values() for r in own.values() if r.summary is None]
    passed_over = len(results) - sum(len(own) for own in sorted_in.values())
    notes = [
        *(f"{run.path} is not finished" for run in unfinished),
        *pairing_problems([run.config for run in used]),
        *([f"{passed_over} runs are passed over: of no arm of the study, or of other seeds"] if passed_over else []),
    ]
    return Assessment(
        study,
        judge(study, values, excluded),
        {label: len(own) for label, own in finished.items()},
        values,
        tuple(used),
        tuple(_doubts(study, used)),
        tuple(notes),
    )


def _sort_in(study: Study, results: Sequence[Result]) -> dict[str, dict[int, Result]]:
    """{arm: {seed: run}}; a finished run counts before an unfinished one."""
    found: dict[str, dict[int, Result]] = {label: {} for label in study.arms}
    problems: list[str] = []
    for run in results:
        labels = study.arms_of(run.config)
        if len(labels) > 1:
            problems.append(f"{run.path}: belongs to several arms of the study: {', '.join(labels)}")
        if len(labels) != 1 or run.seed not in study.seeds:
            continue
        own = found[labels[0]]
        other = own.get(run.seed)
        if other is not None and other.summary is not None and run.summary is not None:
            problems.append(f"arm {labels[0]}, seed {run.seed}: 2 finished runs ({other.path}, {run.path}); name one")
        if other is None or other.summary is None:
            own[run.seed] = run
    for label, own in found.items():
        problems += _one_arm(label, list(own.values()))
    if problems:
        raise ConfigError(*problems)
    return found


def _one_arm(label: str, runs: Sequence[Result]) -> Iterator[str]:
    keys = dict.fromkeys(key for run in runs for key in run.config if key not in APART)
    differing = [key for key in keys if any(run.config.get(key) != runs[0].config.get(key) for run in runs)]
    if differing:
        yield f"arm {label}: its runs differ in {', '.join(differing)}, so they are no repetitions of one thing"


def _excluded(study: Study, run: Result) -> str:
    """Why the rules of the study leave the run out; "" when they do not."""
    rules = study.exclude
    if "fork" in rules and forked_from(run.path):
        return "is a fork"
    if run.summary is None:
        return "is not finished" if "unfinished" in rules else ""
    base = measure(run, "final", run.budget).base if {"base_below", "base_above"} & rules.keys() else 0.0
    if "base_below" in rules and base < rules["base_below"]:
        return f"base reward {base:.3f} < {rules['base_below']:g}"
    if "base_above" in rules and base > rules["base_above"]:
        return f"base reward {base:.3f} > {rules['base_above']:g}"
    if "unscored_above" in rules:
        steps = [row for row in read_rows(run.path / "metrics.jsonl") if row["kind"] == "step"]
        tasks = len(steps) * int(run.config["budget.tasks_per_step"])
        share = sum(row.get("unscored_tasks") or 0 for row in steps) / max(1, tasks)
        if share > rules["unscored_above"]:
            return f"{share:.1%} of its tasks were not scored"
    return ""


def _comparable(study: Study, used: Sequence[Result]) -> None:
    if not used:
        listed = ", ".join(study.arms)
        raise ConfigError(f"study {study.name}: none of the runs is a finished one of its arms ({listed}) and seeds")
    configs = [run.config for run in used]
    named = [key for own in study.arms.values() for key in own]
    mixed = objective_problem(configs, named)
    if mixed:
        raise ConfigError(mixed)
    if len({run.unit for run in used}) > 1:
        raise ConfigError(*unequal_budgets(configs))


def _doubts(study: Study, used: Sequence[Result]) -> Iterator[str]:
    stamps = [read_manifest(RunDirectory(run.path)).get("study") for run in used]
    without = [run for run, stamp in zip(used, stamps, strict=True) if not stamp]
    changed = [run for run, stamp in zip(used, stamps, strict=True) if stamp and stamp["sha256"] != study.sha256]
    if without:
        yield f"{len(without)} of {len(used)} runs were started under no study, {without[0].path} for one"
    if changed:
        yield (
            f"{study.path} is not the file that {len(changed)} of {len(used)} runs were started under: it was changed "
            f"afterwards, or is another one ({changed[0].path} for one)"
        )
    forks = [run for run in used if forked_from(run.path)]
    if forks:
        yield f"{len(forks)} runs are forks, {forks[0].path} for one: their first steps had other settings"
