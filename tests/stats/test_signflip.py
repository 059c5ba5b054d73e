"""The sign-flip test against counting by hand, an independent implementation, and its own symmetries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.signflip import sign_flip

# Multiples of 1/48, as mean rewards of a pool are: ties are common, and sums differ in their last bits.
REWARDS = st.integers(-48, 48).map(lambda k: k / 48)
DIFFERENCES = st.lists(REWARDS, min_size=1, max_size=11)


def test_by_hand() -> None:
    """d = 1, 2, 4: the eight sums are -7 -5 -3 -1 1 3 5 7, the observed one is 7."""
    test = sign_flip([1, 2, 4])
    assert (test.p_greater, test.p_less, test.p_two_sided) == (1 / 8, 1.0, 2 / 8)
    assert test.mean == pytest.approx(7 / 3)
    # -1, 2, 4 gives 5: 5 and 7 are at least as large, and with -5 and -7 four are as far from 0; seven are <= 5.
    test = sign_flip([-1, 2, 4])
    assert (test.p_greater, test.p_less, test.p_two_sided) == (2 / 8, 7 / 8, 4 / 8)


@pytest.mark.parametrize(("n", "two_sided"), [(1, 1.0), (5, 0.0625), (6, 0.03125), (8, 0.0078125)])
def test_the_smallest_p_that_n_pairs_can_give(n: int, two_sided: float) -> None:
    test = sign_flip(np.arange(1, n + 1))
    assert test.p_two_sided == test.smallest_two_sided == two_sided
    assert test.p_greater == test.smallest_one_sided == two_sided / 2


def test_ties_do_not_hang_on_the_last_bit() -> None:
    """0.1 + 0.2 and 0.3 differ in floating point; both assignments that sum to 0 count as the observed one does."""
    assert 0.1 + 0.2 - 0.3 != 0
    scaled, exact = sign_flip([0.1, 0.2, -0.3]), sign_flip([1, 2, -3])
    assert scaled.p_greater == exact.p_greater == 5 / 8  # sums 0, 0, 2, 4, 6 of -6 -4 -2 0 0 2 4 6
    assert scaled.p_two_sided == exact.p_two_sided == 1.0


def test_no_difference_at_all() -> None:
    assert sign_flip([0.0, 0.0, 0.0]).p_two_sided == 1.0


@given(DIFFERENCES)
def test_equals_listing_every_assignment_of_signs(d: list[float]) -> None:
    sums = [
        round(sum(s * x for s, x in zip(signs, d, strict=True)) * 48)
        for signs in itertools.product((-1, 1), repeat=len(d))
    ]
    observed, total = round(sum(d) * 48), 2 ** len(d)
    test = sign_flip(d)
    assert test.p_greater == sum(s >= observed for s in sums) / total
    assert test.p_less == sum(s <= observed for s in sums) / total
    assert test.p_two_sided == min(1.0, sum(abs(s) >= abs(observed) for s in sums) / total)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_equals_scipy(alternative: str) -> None:
    d = np.random.default_rng(0).normal(0.3, 1.0, 12)
    theirs = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative=alternative
    )
    test = sign_flip(d)
    ours = {"two-sided": test.p_two_sided, "greater": test.p_greater, "less": test.p_less}[alternative]
    assert ours == pytest.approx(theirs.pvalue, abs=1e-15)


@given(DIFFERENCES)
def test_range_and_symmetry(d: list[float]) -> None:
    test, mirrored = sign_flip(d), sign_flip([-x for x in d])
    assert (test.p_greater, test.p_less) == (mirrored.p_less, mirrored.p_greater)
    assert test.p_two_sided == mirrored.p_two_sided
    for p in (test.p_greater, test.p_less):
        assert 2.0 ** -len(d) <= p <= 1
    assert test.smallest_two_sided <= test.p_two_sided <= 1
    assert test.p_greater + test.p_less >= 1  # the observed sum itself counts on both sides
    assert sign_flip([3 * x for x in d]).p_two_sided == test.p_two_sided
    assert sign_flip(d[::-1]).p_two_sided == test.p_two_sided


def test_exact_for_forty_pairs() -> None:
    """40 equal differences: the sum is a binomial count, so every p is a sum of binomial coefficients."""
    d = np.array([1.0] * 25 + [-1.0] * 15)
    assert sign_flip(d).p_greater == pytest.approx(stats.binom.sf(24, 40, 0.5), rel=1e-12)
    assert sign_flip(np.ones(40)).p_greater == 2.0**-40


def test_drawn_signs_agree_with_the_exact_test_and_never_give_zero() -> None:
    d = np.random.default_rng(1).normal(0.3, 1.0, 16)
    exact, drawn = sign_flip(d), sign_flip(d, exact_up_to=15)
    assert (exact.draws, drawn.draws) == (0, 99_999)
    error = 4 * math.sqrt(exact.p_greater / 99_999)
    assert drawn.p_greater == pytest.approx(exact.p_greater, abs=error)
    assert drawn.p_two_sided == min(1.0, 2 * min(drawn.p_greater, drawn.p_less))
    assert sign_flip(d, exact_up_to=15) == drawn
    far = sign_flip(np.sqrt(np.arange(2, 52)))  # of no common unit
    assert far.p_greater == far.smallest_one_sided == 1 / 100_000


@settings(max_examples=20)
@given(st.lists(st.integers(2, 500), min_size=3, max_size=6, unique=True), st.integers(50, 400))
def test_drawn_p_is_a_count_of_draws(d: list[int], draws: int) -> None:
    test = sign_flip(np.log(d) + np.pi, exact_up_to=2, draws=draws)
    count = test.p_greater * (draws + 1)
    assert count == pytest.approx(round(count))
    assert 1 <= round(count) <= draws + 1


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [[1.0]]])
def test_refused(bad: list) -> None:
    with pytest.raises(ConfigError, match="at least one pair"):
        sign_flip(bad)
