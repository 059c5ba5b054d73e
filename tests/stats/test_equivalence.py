"""Two one-sided tests by hand, against scipy, and their duality with the interval and the one-sided bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.equivalence import equivalence
from esagent.stats.inversion import lower_bound, sign_flip_interval, upper_bound
from esagent.stats.signflip import sign_flip

FLOATS = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
SAMPLES = st.lists(FLOATS, min_size=5, max_size=9)


def test_by_hand() -> None:
    """d + 2 = 1 2 3 4 5 is all above 0: p_below = 1/32. 2 - d = 3 2 1 0 -1 sums to 5; its sums are listed."""
    found = equivalence([-1.0, 0.0, 1.0, 2.0, 3.0], margin=2.0)
    assert found.exact.p_below == 1 / 32
    sums = [
        sum(s * x for s, x in zip(signs, (3, 2, 1, 0, -1), strict=True))
        for signs in itertools.product((-1, 1), repeat=5)
    ]
    assert found.exact.p_above == sum(total >= 5 for total in sums) / 32
    assert found.exact.p == found.exact.p_above
    assert not found.exact.equivalent


def test_t_version_equals_scipy() -> None:
    d = np.random.default_rng(0).normal(0.0, 0.01, 10)
    found = equivalence(d, margin=0.02).t
    assert found.p_below == pytest.approx(stats.ttest_1samp(d, -0.02, alternative="greater").pvalue)
    assert found.p_above == pytest.approx(stats.ttest_1samp(d, 0.02, alternative="less").pvalue)
    assert found.interval == pytest.approx(stats.ttest_1samp(d, 0).confidence_interval(0.9))
    assert found.equivalent


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.floats(0.01, 1.5))
def test_equivalent_is_an_interval_inside_the_margin(d: list[float], margin: float) -> None:
    found = equivalence(d, margin)
    for tost in (found.exact, found.t):
        low, high = tost.interval
        if min(abs(low + margin), abs(high - margin)) > 1e-6:
            assert tost.equivalent == (-margin < low and high < margin)
        assert tost.p == max(tost.p_below, tost.p_above)


@settings(max_examples=40, deadline=None)
@given(SAMPLES, st.floats(0.01, 1.0), st.floats(0.0, 0.5))
def test_a_wider_margin_is_easier_and_mirrored_data_say_the_same(d: list[float], margin: float, more: float) -> None:
    assert equivalence(d, margin + more).exact.p <= equivalence(d, margin).exact.p
    mirrored = equivalence([-x for x in d], margin).exact
    assert (mirrored.p_below, mirrored.p_above) == (
        equivalence(d, margin).exact.p_above,
        equivalence(d, margin).exact.p_below,
    )
    assert equivalence(d[::-1], margin).exact.p == equivalence(d, margin).exact.p


@settings(max_examples=60, deadline=None)
@given(SAMPLES, FLOATS)
def test_one_sided_bounds_invert_the_one_sided_tests(d: list[float], shift: float) -> None:
    low, high = lower_bound(d, 0.9), upper_bound(d, 0.9)
    assert low - 1e-9 <= np.mean(d) <= high + 1e-9
    if abs(shift - high) > 1e-6:
        assert (sign_flip(np.array(d) - shift).p_less <= 0.1 + 1e-12) == (shift > high)
    if abs(shift - low) > 1e-6:
        assert (sign_flip(np.array(d) - shift).p_greater <= 0.1 + 1e-12) == (shift < low)
    assert (low, high) == sign_flip_interval(d, 0.8)


def test_four_seeds_have_no_bound_at_95_and_five_do() -> None:
    assert upper_bound([0.1, 0.2, 0.3, 0.4]) == np.inf
    assert lower_bound([0.1, 0.2, 0.3, 0.4]) == -np.inf
    assert upper_bound([0.1, 0.2, 0.3, 0.4, 0.5]) == pytest.approx(0.5)


@pytest.mark.parametrize(("margin", "alpha", "says"), [(0.0, 0.05, "margin=0.0"), (0.1, 0.5, "alpha=0.5")])
def test_refused(margin: float, alpha: float, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        equivalence([0.1, 0.2], margin, alpha)
