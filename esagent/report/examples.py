"""Tasks worth looking at: where the trained agent does most better, where worse, and where it fails as before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.config.names import SPLITS
from esagent.errors import EsagentError
from esagent.report.run import Run
from esagent.runs.episodes import evaluation_file, read_episodes

Episode = Mapping[str, Any]


def examples(run: Run, gains: int = 2) -> list[dict[str, Any]]:
    """[{"kind", "split", "base", "trained"}] of held-out tasks, or of the pool where there are none.

    kind: gain (the largest differences in reward), loss (the largest one the other way), same (of equal rewards below 1
    the lowest), only as far as there are such tasks. Empty when no split has episodes of both agents that can be read.
    """
    for split in reversed(SPLITS):
        evaluations = run.history.evaluations.get(split, [])
        chosen = run.summary.get("selected_step", evaluations[-1].step if evaluations else 0)
        if not chosen:
            continue
        try:
            pairs = _pairs(_read(run, 0, split), _read(run, chosen, split))
        except (EsagentError, KeyError, TypeError):
            continue
        if pairs:
            return _choose(pairs, split, gains)
    return []


def _choose(pairs: list[tuple[Episode, Episode]], split: str, gains: int) -> list[dict[str, Any]]:
    def difference(pair: tuple[Episode, Episode]) -> float:
        return float(pair[1]["score"]["reward"]) - float(pair[0]["score"]["reward"])

    ordered = sorted(pairs, key=difference, reverse=True)  # stable: of equal ones the first of the split
    chosen = [("gain", pair) for pair in ordered[:gains] if difference(pair) > 0]
    chosen += [("loss", pair) for pair in ordered[-1:] if difference(pair) < 0]
    unchanged = [pair for pair in pairs if difference(pair) == 0 and pair[1]["score"]["reward"] < 1]
    lowest = sorted(unchanged, key=lambda pair: float(pair[1]["score"]["reward"]))
    chosen += [("same", pair) for pair in lowest[:1]]
    return [{"kind": kind, "split": split, "base": base, "trained": trained} for kind, (base, trained) in chosen]


def _pairs(base: dict[str, Episode], trained: dict[str, Episode]) -> list[tuple[Episode, Episode]]:
    return [(base[task], trained[task]) for task in base if task in trained]


def _read(run: Run, step: int, split: str) -> dict[str, Episode]:
    path = evaluation_file(run.directory.episodes, step, split)
    episodes = list(read_episodes(path)) if path.exists() else []
    return {episode["task"]["id"]: episode for episode in episodes if not episode["score"]["unscored"]}
