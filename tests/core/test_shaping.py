"""Shaping: hand-computed values, degenerate steps, and properties over arbitrary rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from esagent.core.shaping import (
    SHAPINGS,
    block_zscore,
    centred,
    centred_ranks,
    group_zscore,
    member_fitness,
    shape,
    zscore,
)


def by_block(fitness: np.ndarray) -> np.ndarray:
    """All in one block, as for the others: within it, it is the z-score."""
    return block_zscore(fitness)


def by_group(fitness: np.ndarray) -> np.ndarray:
    """One task."""
    return group_zscore(fitness[:, None])


ALL = {**SHAPINGS, "block_zscore": by_block, "group": by_group}
EVERY = pytest.mark.parametrize("shape", ALL.values(), ids=ALL.keys())
any_rewards = arrays(np.float64, st.integers(1, 12), elements=st.floats(allow_nan=True, allow_infinity=True))


def test_centred_by_hand() -> None:
    np.testing.assert_allclose(centred(np.array([1.0, 2.0, 6.0])), [-2.0, -1.0, 3.0])


def test_zscore_by_hand() -> None:
    # mean 3, population variance (4 + 1 + 9) / 3
    np.testing.assert_allclose(zscore(np.array([1.0, 2.0, 6.0])), np.array([-2, -1, 3]) / np.sqrt(14 / 3), rtol=1e-7)


def test_zscore_of_a_tiny_spread_is_not_amplified() -> None:
    assert np.abs(zscore(np.array([0.5, 0.5 + 1e-12]))).max() < 1e-3


def test_ranks_by_hand_with_a_tie() -> None:
    np.testing.assert_allclose(centred_ranks(np.array([0.1, 0.9, 0.9, 0.3])), [-0.5, 1 / 3, 1 / 3, -1 / 6])


@EVERY
@pytest.mark.parametrize("fitness", [[0.3] * 5, [np.nan] * 4, [np.inf, -np.inf, np.nan], [1.0], [np.nan]])
def test_no_information_gives_exact_zeros(shape, fitness: list[float]) -> None:
    weights = shape(np.array(fitness))
    assert weights.tolist() == [0.0] * len(fitness)


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_failed_members_rank_worst(shape, bad: float) -> None:
    weights = shape(np.array([0.2, bad, 0.8, 0.5]))
    assert weights[1] == weights.min()
    assert weights[2] == weights.max() > weights[3] > weights[1]


def test_ranks_put_a_failed_member_strictly_below_the_worst() -> None:
    weights = centred_ranks(np.array([0.2, np.nan, 0.8]))
    assert weights.tolist() == [0.0, -0.5, 0.5]


@EVERY
@given(fitness=any_rewards)
def test_weights_are_finite_centred_and_keep_the_order(shape, fitness) -> None:
    weights = shape(fitness)
    assert np.isfinite(weights).all()
    assert abs(weights.sum()) <= 1e-6 * max(1.0, np.abs(weights).max())
    ok = np.abs(np.nan_to_num(fitness, nan=np.inf)) < 1e38
    order = np.argsort(fitness[ok])
    assert (np.diff(weights[ok][order]) >= 0).all()


@EVERY
@given(fitness=arrays(np.float64, 8, elements=st.floats(-5, 5)), seed=st.integers(0, 99))
def test_members_can_be_relabelled(shape, fitness, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(8)
    np.testing.assert_allclose(shape(fitness[order]), shape(fitness)[order], atol=1e-6)


def test_member_fitness_is_the_mean_and_nan_where_any_task_failed() -> None:
    out = member_fitness(np.array([[0.0, 1.0], [0.5, np.inf], [np.nan, 0.2], [0.25, 0.25]]))
    np.testing.assert_array_equal(out, [0.5, np.nan, np.nan, 0.25])


def test_block_zscore_by_hand() -> None:
    """Blocks a: 1, 3 (mean 2, std 1), b: 10, 50 (mean 30, std 20); a block of one member says nothing."""
    weights = block_zscore(np.array([1.0, 10.0, 3.0, 50.0, 7.0]), ["a", "b", "a", "b", "c"])
    np.testing.assert_allclose(weights, [-1.0, -1.0, 1.0, 1.0, 0.0], rtol=1e-7)


def test_a_failed_member_is_the_worst_of_its_block_and_a_failed_block_weighs_nothing() -> None:
    weights = block_zscore(np.array([1.0, np.nan, np.nan, np.inf, 3.0, 5.0]), list("abbbaa"))
    assert weights[[1, 2, 3]].tolist() == [0.0, 0.0, 0.0]
    weights = block_zscore(np.array([9.0, 0.1, np.nan, 0.3]), list("abbb"))
    assert weights[2] == weights[1] < weights[3]


def test_group_by_hand() -> None:
    """Two members, three tasks; tasks 0 and 1 are of one group with mean 0.5, task 2 alone has mean 0.3."""
    rewards = np.array([[1.0, 0.0, 0.2], [1.0, 0.0, 0.4]])
    centred_rewards = np.array([[0.5, -0.5, -0.1], [0.5, -0.5, 0.1]])
    spread = np.sqrt((4 * 0.25 + 2 * 0.01) / 6)
    np.testing.assert_allclose(group_zscore(rewards, ["x", "x", "y"]), centred_rewards.mean(axis=1) / spread, rtol=1e-6)
    # every task its own group: only the third differs, by 0.1 each way
    alone = group_zscore(rewards)
    np.testing.assert_allclose(alone, [-np.sqrt(3) / 3, np.sqrt(3) / 3], rtol=1e-6)
    np.testing.assert_allclose(alone, group_zscore(rewards, ["p", "q", "r"]))


@given(
    rewards=arrays(np.float64, (5, 4), elements=st.floats(-3, 3)),
    groups=st.lists(st.sampled_from("ab"), min_size=4, max_size=4),
)
def test_groups_act_on_the_spread_alone(rewards, groups) -> None:
    """All members have the same tasks: weights of one step are one multiple of the centred fitness."""
    weights, plain = group_zscore(rewards, groups), centred(member_fitness(rewards))
    assert abs(np.linalg.norm(weights) * np.linalg.norm(plain) - weights @ plain) <= 1e-6 * (1 + abs(weights @ plain))


def test_a_failed_member_takes_the_rewards_of_the_worst_in_its_group() -> None:
    rewards = np.array([[0.2, 0.4], [np.nan, 1.0], [0.9, 0.8]])
    weights = group_zscore(rewards)
    assert weights[1] == weights[0] < weights[2]


def test_shape_hands_each_shaping_what_it_needs() -> None:
    rewards = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.0], [0.0, 0.0]])
    fitness = rewards.mean(axis=1)
    for name, found in SHAPINGS.items():
        np.testing.assert_array_equal(shape(name, rewards, groups=["x", "x"], blocks="abab"), found(fitness))
    np.testing.assert_array_equal(shape("block_zscore", rewards, blocks="abab"), block_zscore(fitness, "abab"))
    np.testing.assert_array_equal(shape("group", rewards, groups=["x", "x"]), group_zscore(rewards, ["x", "x"]))


def test_members_that_earned_the_same_in_another_order_are_equal() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in their last bit."""
    one, other = member_fitness(np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]))
    assert one == other
