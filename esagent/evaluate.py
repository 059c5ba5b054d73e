"""Scored rollouts, and the evaluation of the unperturbed agent that a run reports and chooses by."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from esagent.assemble import Parts
from esagent.config.schema import Objective
from esagent.core.episode import Cost, Episode, Task
from esagent.core.ledger import trajectory_tokens
from esagent.core.population import Perturbation
from esagent.credit.blame import blame_counts
from esagent.errors import RunError
from esagent.rollout import OnRound, UnscoredError, reward_matrix, rollout
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import evaluation_file, write_episodes
from esagent.runs.metrics import append_row, read_rows
from esagent.runs.seal import is_sound, sealed

Split = Literal["pool", "validation", "heldout"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rollout:
    """The episodes of all members on the same tasks; `rewards` [members, kept tasks], `dropped` ids were unscored.

    objective: what `rewards` are.
    """

    episodes: list[Episode]
    rewards: NDArray[np.float64]
    dropped: list[str]
    objective: Objective = Objective.reward


@dataclass(frozen=True)
class Evaluation:
    """The unperturbed agent after `step` updates on one split: rewards by task id, module signals as means."""

    step: int
    split: Split
    rewards: Mapping[str, float]
    signals: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean reward over the scored tasks."""
        return float(np.mean(list(self.rewards.values())))


def scored_rollout(
    parts: Parts, members: Sequence[Perturbation], tasks: Sequence[Task], on_round: OnRound | None = None
) -> Rollout:
    """Run and score; once more when the harness failed on too many episodes, for such failures are often passing.

    Raises UnscoredError when the second try fails as well.
    """
    try:
        return _rollout(parts, members, tasks, on_round)
    except UnscoredError as error:
        _log.warning("%s; trying once more", error)
        return _rollout(parts, members, tasks, on_round)


def evaluate(
    run: RunDirectory,
    parts: Parts,
    step: int,
    split: Split,
    seal: str,
    reach: Callable[[int], None] | None = None,
    on_round: OnRound | None = None,
) -> Evaluation:
    """The evaluation of the state after `step` updates: a row of metrics.jsonl under the run's `seal`, and episodes.

    One that is already there and sound is not done again. Otherwise the backend must be in that state, or `reach`
    brings it there. on_round: see `rollout`; what it raises ends the evaluation, of which nothing is kept.
    Raises RunError when no task could be scored.
    """
    for row in reversed(read_rows(run.metrics)):
        if (row["kind"], row["step"], row.get("split")) == ("evaluation", step, split) and is_sound(row, seal):
            return _from_row(row)
    if reach:
        reach(step)
    tasks: Sequence[Task] = getattr(parts.pools, split)
    start, before = time.monotonic(), parts.backend.cost()
    result = scored_rollout(parts, (), tasks, on_round)
    kept = [e for e in result.episodes if not e.score.unscored and math.isfinite(e.score.reward)]
    if not kept:
        raise RunError(f"no task of {split} has a finite score")
    episodes = write_episodes(evaluation_file(run.episodes, step, split), result.episodes)
    row = {
        "kind": "evaluation",
        "step": step,
        "split": split,
        "digest": parts.backend.digest(),
        "mean": float(np.mean([episode.score.reward for episode in kept])),
        "success": float(np.mean([episode.score.success for episode in kept])),
        "signals": mean_signals(kept),
        "blamed": blame_counts([episode.score for episode in kept], parts.agent.modules),
        "tasks": [episode.task.id for episode in kept],
        "rewards": [episode.score.reward for episode in kept],
        "episodes": len(result.episodes),
        "trajectory_tokens": sum(trajectory_tokens(e.trajectory.turns) for e in result.episodes),
        "cost": spent(before, parts.backend.cost()),
        "seconds": time.monotonic() - start,
        "episodes_sha256": episodes,
    }
    append_row(run.metrics, sealed(row, seal))
    return _from_row(row)


def mean_signals(episodes: Sequence[Episode]) -> dict[str, float]:
    """Mean signal of each module over the episodes that reached it."""
    names = dict.fromkeys(name for episode in episodes for name in episode.score.signals)
    values = {name: [e.score.signals[name] for e in episodes if name in e.score.signals] for name in names}
    return {name: float(np.mean(found)) for name, found in values.items()}


def spent(before: Cost, after: Cost) -> Cost:
    """What was generated between two readings of `Backend.cost`."""
    return Cost(**{name: getattr(after, name) - getattr(before, name) for name in Cost.__dataclass_fields__})


def _rollout(parts: Parts, members: Sequence[Perturbation], tasks: Sequence[Task], on_round: OnRound | None) -> Rollout:
    episodes = rollout(parts.agent, parts.family, parts.backend, members, tasks, on_round=on_round)
    rewards, dropped = reward_matrix(episodes, members, tasks)
    if not rewards.shape[1]:
        unscored = [episode.score for episode in episodes if episode.score.unscored]
        raise UnscoredError(len(unscored) / len(episodes), f"no task was scored for every member; {unscored[0].reason}")
    return Rollout(episodes, rewards, dropped)


def _from_row(row: Mapping[str, Any]) -> Evaluation:
    return Evaluation(row["step"], row["split"], dict(zip(row["tasks"], row["rewards"], strict=True)), row["signals"])
