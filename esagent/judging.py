"""Whose episodes credit is learned from.

    members      those of the step's perturbed members: no further cost, but what they fail at depends on which modules
                 the allocation perturbs, and so on credit itself
    unperturbed  those of the unperturbed agent on the step's tasks: one member's cost more, which counts as tokens,
                 FLOPs and seconds of training, but not among its episodes

What members fail at is recorded in both cases, without credit noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from esagent.assemble import Parts
from esagent.config.schema import Config, CreditSource
from esagent.core.episode import Episode, Task
from esagent.credit.belief import Judged, judge
from esagent.evaluate import Rollout, scored_rollout


@dataclass(frozen=True)
class Judgement:
    """What credit is learned from, and the unperturbed agent's episodes where they were run for it."""

    source: CreditSource
    judged: Judged
    unperturbed: Sequence[Episode] = ()


def judge_step(config: Config, parts: Parts, step: int, tasks: Sequence[Task], rollout: Rollout) -> Judgement:
    """Judge the episodes of a step; runs the unperturbed agent where the settings ask for it."""
    source, own = config.credit.source, rollout.episodes
    extra = scored_rollout(parts, (), tasks).episodes if source is CreditSource.unperturbed else []
    scores = [episode.score for episode in (extra if source is CreditSource.unperturbed else own)]
    return Judgement(source, judge(scores, parts.agent.modules, config.seed, step, config.credit.noise), extra)
