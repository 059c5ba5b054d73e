"""The interval holds exactly the shifts that the test does not reject."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.errors import ConfigError
from esagent.stats.inversion import sign_flip_interval
from esagent.stats.signflip import sign_flip

FLOATS = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))


def test_too_few_pairs_rule_nothing_out() -> None:
    assert sign_flip_interval([0.1, 0.2, 0.3, 0.4, 0.5]) == (-np.inf, np.inf)
    assert sign_flip_interval([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])[0] > -np.inf
    assert sign_flip_interval([0.1, 0.2], confidence=0.4)[0] > -np.inf


def test_six_pairs_by_hand() -> None:
    """2/2^6 = 0.03125 <= 0.05 < 4/2^6: a shift is ruled out when it lies below all differences or above all of them."""
    low, high = sign_flip_interval([3, 1, 4, 1.5, 9, 2.6])
    assert (low, high) == pytest.approx((1, 9))


def test_limits_are_means_of_subsets() -> None:
    """Seven pairs at 95%: p_greater = k/128 > 0.025 from k = 4, when 3 subsets have a mean of the limit or less."""
    d = [0.05, 0.31, 0.12, -0.2, 0.44, 0.27, 0.16]
    means = sorted(float(np.mean(c)) for size in range(1, 8) for c in itertools.combinations(d, size))
    assert sign_flip_interval(d) == pytest.approx((means[2], means[-3]))


@settings(max_examples=40, deadline=None)
@given(st.lists(FLOATS, min_size=2, max_size=9), st.sampled_from([0.5, 0.8, 0.95]), FLOATS)
def test_duality(d: list[float], confidence: float, shift: float) -> None:
    low, high = sign_flip_interval(d, confidence)
    near = 1e-7 * max(1.0, float(np.abs(d).max()))
    for delta in (shift, float(np.mean(d)), low + near, low - near, high - near, high + near):
        if np.isfinite(delta) and min(abs(delta - low), abs(delta - high)) > near / 2:
            rejected = sign_flip(np.array(d) - delta).p_two_sided <= 1 - confidence + 1e-12
            assert rejected == (not low <= delta <= high), (delta, low, high)


@settings(max_examples=40, deadline=None)
@given(st.lists(FLOATS, min_size=6, max_size=10), FLOATS)
def test_moves_and_mirrors_with_the_data(d: list[float], shift: float) -> None:
    low, high = sign_flip_interval(d)
    assert low <= np.mean(d) + 1e-9
    assert high >= np.mean(d) - 1e-9
    assert sign_flip_interval(np.array(d) + shift) == pytest.approx((low + shift, high + shift), abs=1e-7)
    assert sign_flip_interval(-np.array(d)) == pytest.approx((-high, -low), abs=1e-7)


def test_covers_at_least_its_level() -> None:
    generator = np.random.default_rng(2)
    samples = generator.laplace(0.4, 1.0, (400, 8))  # symmetric about 0.4, as the test assumes
    covered = sum(low <= 0.4 <= high for low, high in map(sign_flip_interval, samples))
    assert covered / 400 >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 400)


def test_more_confidence_is_wider() -> None:
    d = np.random.default_rng(3).normal(size=12)
    limits = [sign_flip_interval(d, c) for c in (0.5, 0.8, 0.95, 0.99)]
    assert all(a.low >= b.low and a.high <= b.high for a, b in itertools.pairwise(limits))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, float("nan")])
def test_refused(confidence: float) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        sign_flip_interval([1.0] * 8, confidence)
