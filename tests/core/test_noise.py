"""The noise as a random source: moments, tails, independence along every axis of its key, and purity.

Thresholds are five standard errors of the statistic for independent normal draws, so that a sound generator passes
with certainty (every draw is a fixed function of its key) and a faulty one is far outside.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from esagent.core.noise import direction_seed, gaussian, key, permutation, uniform

N = 1 << 18
PINNED = [0.5719836, -0.7011232, -0.3025269, -0.5159675]


def draw(seed: int, tensor: str = "w", count: int = N) -> np.ndarray:
    return gaussian(seed, tensor, 0, count).numpy().astype(np.float64)


@pytest.mark.parametrize("seed", [0, 1, direction_seed(0, 0, 0), (1 << 64) - 1])
def test_moments_up_to_the_fourth(seed: int) -> None:
    x = draw(seed)
    for power, expected, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        error = 5 * math.sqrt(variance / N)
        # The table has 65,536 values: its fourth moment is 2.998 instead of 3.
        assert abs((x**power).mean() - expected) < error + (0.003 if power == 4 else 0.0)


def test_tails_and_the_whole_distribution() -> None:
    x = draw(7)
    for cut in (1.0, 2.0, 3.0, 4.0):
        p = 2 * stats.norm.sf(cut)
        assert abs((np.abs(x) > cut).mean() - p) < 5 * math.sqrt(p / N) + 2**-15
    assert stats.kstest(x, "norm").statistic < 5 / math.sqrt(N)
    assert 4.0 < np.abs(x).max() < 4.5


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float((x * y).mean()) * math.sqrt(len(x))


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5, 8, 64, 4096])
@pytest.mark.parametrize("power", [1, 2])
def test_elements_do_not_correlate(lag: int, power: int) -> None:
    x = draw(direction_seed(3, 1, 4)) ** power
    x = (x - x.mean()) / x.std()
    assert abs(correlation(x[:-lag], x[lag:])) < 5


def test_tensors_steps_directions_and_runs_do_not_correlate() -> None:
    base = draw(direction_seed(0, 0, 0))
    others = [draw(direction_seed(0, 0, 0), f"layers.{i}.weight") for i in range(8)]
    others += [draw(direction_seed(0, step, 0)) for step in range(1, 9)]
    others += [draw(direction_seed(0, 0, i)) for i in range(1, 9)]
    others += [draw(direction_seed(run, 0, 0)) for run in range(1, 9)]
    assert max(abs(correlation(base, other)) for other in others) < 5
    # Neither do they hold the same numbers at shifted places.
    assert max(abs(correlation(base[:-4], other[4:])) for other in others) < 5


def test_directions_are_close_to_orthonormal() -> None:
    rows = np.stack([draw(direction_seed(5, 0, i), count=4096) for i in range(64)])
    gram = rows @ rows.T / 4096
    assert np.abs(np.diag(gram) - 1).max() < 5 * math.sqrt(2 / 4096)
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 5.5 / math.sqrt(4096)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, (1 << 64) - 1),
    start=st.integers(0, 1 << 40),
    cuts=st.lists(st.integers(0, 400), min_size=1, max_size=4),
)
def test_chunks_do_not_change_the_numbers(seed: int, start: int, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), 400]
    parts = [gaussian(seed, "t", start + a, b - a) for a, b in itertools.pairwise(edges)]
    assert torch.equal(torch.cat(parts), gaussian(seed, "t", start, 400))


def test_thread_count_does_not_change_the_numbers() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = gaussian(9, "t", 5, N)
        torch.set_num_threads(4)
        assert torch.equal(one, gaussian(9, "t", 5, N))
    finally:
        torch.set_num_threads(threads)


def test_noise_leaves_global_random_state_alone() -> None:
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    gaussian(1, "t", 0, 100)
    uniform(1, 100)
    permutation(1, 100)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert (numpy_state == np.random.get_state()[1]).all()


def test_a_hundred_thousand_keys_do_not_collide() -> None:
    keys = {direction_seed(run, step, i) for run in range(10) for step in range(100) for i in range(100)}
    assert len(keys) == 100_000


def test_keys_tell_apart_what_concatenation_would_confuse() -> None:
    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key(1, 23), key(12, 3), key("1", 23), key("")}) == 7


def test_fixed_values_pin_the_stream() -> None:
    """A change of the stream would make every old journal unreadable, so it has to be made on purpose."""
    assert gaussian(1, "w", 0, 4).tolist() == pytest.approx(PINNED, abs=1e-6)


def test_uniform_and_permutation() -> None:
    u = uniform(11, N)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").statistic < 5 / math.sqrt(N)
    assert sorted(permutation(2, 50)) == list(range(50))
    firsts = np.bincount([permutation(key("t", i), 5)[0] for i in range(5000)], minlength=5)
    assert stats.chisquare(firsts).pvalue > 1e-4
