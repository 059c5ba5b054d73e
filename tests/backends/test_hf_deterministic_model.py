"""backend.deterministic with the embedded model and its agent: episodes alone are the episodes in company."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from esagent.assemble import Parts, assemble
from esagent.config.compose import compose
from esagent.core.episode import Episode
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation
from esagent.rollout import rollout
from tests.backends.bits import Bits

pytestmark = pytest.mark.model


def parts(*overrides: str) -> Parts:
    small = ["task.pool=2", "task.heldout=0", "budget.tasks_per_step=1"]
    return assemble(compose(["backend.deterministic=true", *small, *overrides]))


def texts(episodes: Sequence[Episode]) -> list[list[str]]:
    return [[turn.completion.text for turn in episode.trajectory.turns] for episode in episodes]


def test_an_episode_alone_is_the_episode_in_company() -> None:
    here, there = parts(), parts("backend.draft=false")
    modules = here.agent.modules
    members = [Perturbation(direction_seed(5, 0, i), 1, {module: 0.15}) for i, module in enumerate(modules)]
    bits, alone = Bits(here.backend), Bits(there.backend)
    company = texts(rollout(here.agent, here.family, here.backend, members, here.pools.pool))
    found = rollout(there.agent, there.family, there.backend, [members[2]], [there.pools.pool[1]])
    assert texts(found) == [company[2 * 2 + 1]]
    assert len(alone.seen) > 10
    assert alone.seen <= bits.seen
