"""The light lists of names agree with the registries that build what they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from esagent.agents.registry import AGENTS, PROMPT_SETS
from esagent.algorithms.registry import ALGORITHMS
from esagent.allocation.registry import ALLOCATIONS
from esagent.config import names
from esagent.config.schema import Noise
from esagent.core.laws import LAWS
from esagent.tasks.qa import family as qa
from esagent.tasks.qa.file import SCORERS
from esagent.tasks.toolbox.templates import LEVELS


def test_names_are_those_of_the_registries() -> None:
    assert set(names.AGENTS) == set(AGENTS)
    assert set(names.PROMPT_SETS) == set(PROMPT_SETS)
    assert tuple(SCORERS) == names.ANSWER_SCORERS
    assert set(names.ALGORITHMS) == set(ALGORITHMS)
    assert set(names.ALLOCATIONS) == set(ALLOCATIONS)
    assert tuple(law.value for law in Noise) == LAWS


@pytest.mark.parametrize(("family", "levels"), [("toolbox", LEVELS), ("qa", qa.LEVELS)])
def test_levels_and_their_hops_are_those_of_the_families(family: str, levels: Mapping[str, Any]) -> None:
    assert set(names.LEVELS) == set(levels)
    longest = {level: max(i + 1 for i, share in enumerate(levels[level].hops) if share) for level in levels}
    assert longest == names.HOPS[family]


def test_modules_are_those_of_the_agents() -> None:
    assert {name: make().modules for name, make in AGENTS.items()} == names.MODULES
