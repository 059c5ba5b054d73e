"""Whose episodes credit is learned from.

    members      those of the step's perturbed members: no further cost, but what they fail at depends on which modules
                 the allocation perturbs, and so on credit itself
    unperturbed  those of the unperturbed agent on the step's tasks: one member's cost more, which counts as tokens,
                 FLOPs and seconds of training, but not among its episodes

What members fail at is recorded in both cases, without credit noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.assemble import Parts
from esagent.config.schema import Config, CreditSource
from esagent.core.episode import Episode, Task
from esagent.credit.belief import Judged, judge
from esagent.credit.blame import blame_counts
from esagent.evaluate import Rollout, scored_rollout


@dataclass(frozen=True)
class Judgement:
    """judged: what credit is learned from. members: how many failed episodes of the step's members are due to each
    module, without noise; unperturbed: of the unperturbed agent, and its `episodes`, where it was run for it."""

    source: CreditSource
    judged: Judged
    members: Mapping[str, int]
    unperturbed: Mapping[str, int] | None = None
    episodes: Sequence[Episode] = ()


def judge_step(config: Config, parts: Parts, step: int, tasks: Sequence[Task], rollout: Rollout) -> Judgement:
    """Judge the episodes of a step; runs the unperturbed agent where the settings ask for it."""
    source, modules, noise = config.credit.source, parts.agent.modules, config.credit.noise
    own = [episode.score for episode in rollout.episodes]
    members = blame_counts(own, modules)
    if source is CreditSource.members:
        return Judgement(source, judge(own, modules, config.seed, step, noise), members)
    episodes = scored_rollout(parts, (), tasks).episodes
    scores = [episode.score for episode in episodes]
    judged = judge(scores, modules, config.seed, step, noise)
    return Judgement(source, judged, members, blame_counts(scores, modules), episodes)
