"""Keys, and the choices made from them outside tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from esagent.core.noise import direction_seed, gaussian, key, permutation, uniform

N = 1 << 18
PINNED = [0.5719836, -0.7011232, -0.3025269, -0.5159675]


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
