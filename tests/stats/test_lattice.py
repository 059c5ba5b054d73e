"""Counting by dynamic programming equals listing, also where listing is out of reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from esagent.stats.lattice import SPAN, upper_tail, whole_multiples
from esagent.stats.signflip import p_greater, sign_flip

UNITS = st.sampled_from([1.0, 1 / 48, 0.1, 3e-4, 1e5 / 7])
WHOLE = st.lists(st.integers(-30, 30), min_size=1, max_size=10)


@given(WHOLE, UNITS)
def test_multiples_are_found_whatever_the_unit(k: list[int], unit: float) -> None:
    found = whole_multiples(np.array(k) * unit)
    assert found is not None
    scale = np.gcd.reduce(np.abs(k)) or 1
    assert found.tolist() == [value // scale for value in k]


@given(WHOLE)
def test_equals_listing_all_signs(k: list[int]) -> None:
    d = np.array(k, dtype=np.float64)
    assert upper_tail(np.array(k)) == pytest.approx(p_greater(d), rel=1e-12)


@given(WHOLE)
def test_both_tails_share_the_observed_sum_alone(k: list[int]) -> None:
    both = upper_tail(np.array(k)) + upper_tail(-np.array(k))
    assert both >= 1 - 1e-12


def test_numbers_without_a_common_unit() -> None:
    assert whole_multiples(np.random.default_rng(0).normal(size=8)) is None
    assert whole_multiples(np.array([1.0, np.sqrt(2)])) is None
    assert whole_multiples(np.array([1.0, SPAN + 1.0])) is None
    assert whole_multiples(np.zeros(3)).tolist() == [0, 0, 0]


def test_two_hundred_tasks_are_binomial() -> None:
    """120 of 200 tasks gained 1/4, 80 lost it: the sign test in closed form, and no p was drawn."""
    test = sign_flip([0.25] * 120 + [-0.25] * 80)
    assert test.draws == 0
    assert test.p_greater == pytest.approx(stats.binom.sf(119, 200, 0.5), rel=1e-12)
    assert test.smallest_one_sided == 2.0**-200


def test_no_p_is_zero() -> None:
    assert sign_flip(np.ones(5000)).p_greater > 0
