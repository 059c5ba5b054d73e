"""The chain against hand-computed numbers and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.chain import (
    expected_reward,
    gains,
    jump_moments,
    passed,
    reward_table,
    skill,
    slopes,
    squared_distance,
    start_distance,
)

skills_lists = st.lists(st.floats(0.05, 0.95), min_size=1, max_size=5)


def brute(skills: np.ndarray, graded: float) -> float:
    """Mean reward over every pattern of right and wrong modules."""
    rewards, total = reward_table(len(skills), graded), 0.0
    for pattern in itertools.product((True, False), repeat=len(skills)):
        chance = math.prod(p if right else 1 - p for p, right in zip(skills, pattern, strict=True))
        total += chance * rewards[len(list(itertools.takewhile(bool, pattern)))]
    return total


def test_skill_falls_with_the_distance() -> None:
    assert skill(np.array([0.0, 2.0, 8.0]), 0.8, 2.0) == pytest.approx([0.8, 0.8 * math.exp(-0.25), 0.8 * math.exp(-1)])
    distance = start_distance(0.35, 0.9, 1.5)
    assert skill(np.array(distance**2), 0.9, 1.5) == pytest.approx(0.35)
    with pytest.raises(ValueError, match="0 < start <= ceiling"):
        start_distance(0.95, 0.9, 1.0)


def test_a_break_in_the_chain_ends_it() -> None:
    skills = np.array([0.5, 0.5, 0.5])
    difficulty = np.array([[0.1, 0.1, 0.1], [0.1, 0.6, 0.1], [0.6, 0.1, 0.1], [0.1, 0.1, 0.5]])
    assert passed(skills, difficulty).tolist() == [3, 1, 0, 2]  # a difficulty that equals the skill is too much
    assert reward_table(4, 0.5).tolist() == [0.0, 0.125, 0.25, 0.375, 1.0]
    assert reward_table(3, 0.0).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_many_at_once_are_each_alone_to_the_bit() -> None:
    generator = np.random.default_rng(0)
    theta = generator.normal(size=(3, 5, 37)).astype(np.float32)
    optimum = generator.normal(size=37)
    together = skill(squared_distance(theta, optimum), 0.9, 3.0)
    alone = [[float(skill(squared_distance(one.copy(), optimum), 0.9, 3.0)) for one in row] for row in theta]
    assert together.tolist() == alone


@given(skills_lists, st.floats(0, 1))
def test_expected_reward_is_that_of_all_patterns(skills: list[float], graded: float) -> None:
    assert float(expected_reward(np.array(skills), graded)) == pytest.approx(brute(np.array(skills), graded))


@given(skills_lists, st.floats(0, 1))
def test_slopes_gains_and_jumps_agree(skills: list[float], graded: float) -> None:
    p = np.array(skills)
    slope = slopes(p, graded)
    assert gains(p, graded) == pytest.approx(slope * (1 - p))  # the reward is linear in each skill
    for module in range(len(p)):
        mean, square = jump_moments(p, module, graded)
        assert mean == pytest.approx(slope[module])
        assert mean**2 <= square + 1e-12 <= mean + 2e-12  # jumps lie in [0, 1]


def test_jumps_by_hand() -> None:
    # Two modules, graded 0.5: r = 0, 0.25, 1. The first one right: 0.25 with the second wrong, 1 with it right.
    mean, square = jump_moments(np.array([0.3, 0.6]), 0, 0.5)
    assert (mean, square) == pytest.approx((0.4 * 0.25 + 0.6, 0.4 * 0.0625 + 0.6))
    assert jump_moments(np.array([0.3, 0.6]), 1, 0.5) == pytest.approx((0.3 * 0.75, 0.3 * 0.75**2))
