"""What a member's fitness on a task is.

    reward       the score of its own episode
    likelihood   mean over the task's gold outputs, one per request, of the log-likelihood per token under the member's
                 parameters, in nats; supervised, since it needs gold outputs. Every module's output counts the same,
                 however long it is. The target of zeroth-order fine-tuning as in MeZO (arXiv 2305.17333).

Evaluations are of greedy episodes and their reward, whatever was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from esagent.assemble import Parts
from esagent.config.schema import Objective
from esagent.core.episode import GOLD, Episode, Score, Task
from esagent.core.population import Perturbation
from esagent.evaluate import Rollout, scored_rollout
from esagent.gold import gold_episode


def gold_rollout(parts: Parts, members: Sequence[Perturbation], tasks: Sequence[Task]) -> Rollout:
    """Log-likelihoods of the gold outputs under each of `members`; not finite where a member's logits are not.

    The episodes are the gold ones, once per member, scored by its log-likelihood; no module is judged.
    """
    golds = [gold_episode(parts.agent, parts.family, task) for task in tasks]
    requests = [
        replace(request, member=member) for member in range(len(members)) for gold in golds for request in gold.requests
    ]
    texts = [text for _ in members for gold in golds for text in gold.texts]
    scores = np.array(parts.backend.score(requests, texts, members), dtype=np.float64).reshape(len(members), -1)
    ends = np.cumsum([len(gold.texts) for gold in golds])[:-1]
    fitness = np.stack([part.mean(axis=1) for part in np.split(scores, ends, axis=1)], axis=1)
    episodes = [
        Episode(gold.task, member, gold.trajectory, Score(float(fitness[member, column]), reason=GOLD))
        for member in range(len(members))
        for column, gold in enumerate(golds)
    ]
    return Rollout(episodes, fitness, [], Objective.likelihood)


FITNESS: Mapping[Objective, str] = {Objective.reward: "reward", Objective.likelihood: "gold log-likelihood"}
"""In words, as it is shown."""

OBJECTIVES: Mapping[Objective, Callable[[Parts, Sequence[Perturbation], Sequence[Task]], Rollout]] = {
    Objective.reward: scored_rollout,
    Objective.likelihood: gold_rollout,
}
