"""Pairs: the runs of two arms with the same seed. A study with a run missing is refused, never shortened in silence."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.errors import ConfigError
from esagent.stats.results import Result

Grid = Mapping[str, Mapping[int, Result]]
"""{arm: {seed: finished run}}"""


@dataclass(frozen=True)
class Study:
    """Complete pairs: every arm has a finished run of every seed. `passed_over` are unfinished runs beside those."""

    grid: Grid
    seeds: tuple[int, ...]
    passed_over: tuple[Result, ...]


def complete(results: Sequence[Result], labels: Sequence[str]) -> Study:
    """Lay runs out by arm and seed.

    Raises ConfigError with one line for each pair that lacks a run, naming the unfinished run where there is one, and
    for each that has several.
    """
    found: dict[str, dict[int, list[Result]]] = {}
    for result, label in zip(results, labels, strict=True):
        found.setdefault(label, {}).setdefault(result.seed, []).append(result)
    seeds = sorted({seed for arm in found.values() for seed in arm})
    grid: dict[str, dict[int, Result]] = {arm: {} for arm in found}
    problems: list[str] = []
    passed_over: list[Result] = []
    for arm in found:
        for seed in seeds:
            runs = found[arm].get(seed, [])
            finished = [run for run in runs if run.summary is not None]
            if len(finished) == 1:
                grid[arm][seed] = finished[0]
                passed_over += [run for run in runs if run.summary is None]
            else:
                problems.append(f"arm {arm}, seed {seed}: {_problem(runs, finished)}")
    if problems:
        raise ConfigError(*problems)
    return Study(grid, tuple(seeds), tuple(passed_over))


def _problem(runs: Sequence[Result], finished: Sequence[Result]) -> str:
    if len(finished) > 1:
        several = ", ".join(str(run.path) for run in finished)
        return f"{len(finished)} finished runs ({several}); name one of them, or tell them apart, as in --by name"
    if runs:
        return f"{runs[-1].path} is not finished; go on with: esagent resume {shlex.quote(str(runs[-1].path))}"
    return "no run; the other arms have one"
