"""Shaping: hand-computed values, degenerate steps, and properties over arbitrary rewards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from esagent.core.shaping import SHAPINGS, centred, centred_ranks, member_fitness, zscore

EVERY = pytest.mark.parametrize("shape", SHAPINGS.values(), ids=SHAPINGS.keys())
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
