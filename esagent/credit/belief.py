"""What is believed about the modules: their credit and propensities, step by step from what episodes showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from esagent.config.schema import CreditConfig
from esagent.core.episode import Score
from esagent.credit.blame import blamed_modules, counted
from esagent.credit.noise import blame_draws, noisy_blame
from esagent.credit.reach import reach_counts, reached_after
from esagent.credit.share import credit_after


@dataclass(frozen=True)
class Belief:
    """credit: share of failures by module. reached: probability that an episode reaches it with nothing gone wrong."""

    credit: Mapping[str, float]
    reached: Mapping[str, float]


@dataclass(frozen=True)
class Judged:
    """What the episodes of a step showed: how many were scored, how many blame each module (after credit noise), and
    in how many every earlier module was right."""

    episodes: int
    blamed: Mapping[str, int]
    reached: Mapping[str, int]


def first_belief(modules: Sequence[str]) -> Belief:
    """Before the first step: equal credit, and every module reached."""
    return Belief(dict.fromkeys(modules, 1.0 / len(modules)), dict.fromkeys(modules, 1.0))


def belief_of(records: Sequence[Mapping[str, Any]], modules: Sequence[str]) -> Belief:
    """The belief that the newest of the journal's records left. One of an earlier version has no propensities."""
    if not records:
        return first_belief(modules)
    return Belief(records[-1]["credit"], records[-1].get("reached") or first_belief(modules).reached)


def judge(scores: Sequence[Score], modules: Sequence[str], seed: int, step: int, noise: float) -> Judged:
    """What `scores` show of `modules`, which stand in the order in which an episode reaches them.

    noise: probability that an episode's blame falls on another module, drawn under seed, step and place in `scores`.
    """
    place = {name: index for index, name in enumerate(modules)}
    found = np.array([place.get(name, -1) if name else -1 for name in blamed_modules(scores, modules)], dtype=np.int64)
    told = noisy_blame(found, blame_draws(seed, step, len(found)), noise, len(modules))
    return Judged(
        episodes=sum(not score.unscored for score in scores),
        blamed=counted([modules[index] if index >= 0 else None for index in told], modules),
        reached=reach_counts(scores, modules),
    )


def learn(belief: Belief, judged: Judged, settings: CreditConfig) -> Belief:
    """The belief after a step."""
    names = sorted(belief.credit)  # one order of summation, however a journal was read
    credit = credit_after(
        _row(belief.credit, names), _row(judged.blamed, names), settings.rate, settings.smoothing
    ).tolist()
    reached = reached_after(
        _row(belief.reached, names),
        _row(judged.reached, names),
        np.array(float(judged.episodes)),
        settings.rate,
        settings.smoothing,
    ).tolist()
    return Belief(dict(zip(names, credit, strict=True)), dict(zip(names, reached, strict=True)))


def _row(values: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    return np.array([values[name] for name in names], dtype=np.float64)
