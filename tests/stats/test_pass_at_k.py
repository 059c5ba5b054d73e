"""pass@k against its definition: all subsets counted, and exact binomials."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.errors import ConfigError
from esagent.stats.pass_at_k import levels, pass_at_k


@pytest.mark.parametrize("n", range(1, 7))
def test_it_is_the_share_of_subsets_that_hold_a_right_sample(n: int) -> None:
    for c in range(n + 1):
        right = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = list(combinations(right, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)


@given(st.data())
def test_it_agrees_with_exact_binomials(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 300))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, k) == pytest.approx(float(1 - Fraction(comb(n - c, k), comb(n, k))), abs=1e-9)


def test_hand_computed() -> None:
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    assert pass_at_k(4, 1, 2) == pytest.approx(0.5)
    assert pass_at_k(256, 1, 256) == 1.0
    assert pass_at_k(8, 0, 8) == 0.0


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 5), (4, 2, 0), (0, 0, 1)])
def test_what_cannot_be_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ConfigError, match="pass@"):
        pass_at_k(n, c, k)


def test_levels_are_powers_of_two_and_all_samples() -> None:
    assert [levels(n) for n in (0, 1, 2, 4, 6, 32)] == [[], [1], [1, 2], [1, 2, 4], [1, 2, 4, 6], [1, 2, 4, 8, 16, 32]]
