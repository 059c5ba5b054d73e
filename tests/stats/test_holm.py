"""Holm's correction by hand, against its definition by closed testing, and its properties."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.errors import ConfigError
from esagent.stats.holm import holm

FAMILY = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def test_by_hand() -> None:
    """Holm (1979): 0.01 x 3; 0.02 x 2; 0.03 x 1, raised to 0.04 so that order is kept."""
    assert holm({"a": 0.03, "b": 0.01, "c": 0.02}) == pytest.approx({"a": 0.04, "b": 0.03, "c": 0.04})
    assert list(holm({"a": 0.03, "b": 0.01})) == ["a", "b"]


def test_six_seeds_fail_holm_over_two_and_eight_serve_six() -> None:
    assert min(holm({"a": 2 / 2**6, "b": 0.5}).values()) > 0.05
    assert min(holm(dict.fromkeys("abcdef", 2 / 2**8)).values()) <= 0.05


@given(FAMILY)
def test_equals_closed_testing_with_bonferroni(values: list[float]) -> None:
    """Holm is the closure of Bonferroni: a test counts when every set of tests with it has m min(p) small enough."""
    found = list(holm({str(i): p for i, p in enumerate(values)}).values())
    for i, adjusted in enumerate(found):
        others = [j for j in range(len(values)) if j != i]
        subsets = itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(len(values)))
        worst = max((len(s) + 1) * min(values[i], *(values[j] for j in s), 1.0) for s in subsets)
        assert adjusted == pytest.approx(min(1.0, worst))


@given(FAMILY)
def test_never_smaller_and_in_order(values: list[float]) -> None:
    found = list(holm({str(i): p for i, p in enumerate(values)}).values())
    assert all(adjusted >= p for adjusted, p in zip(found, values, strict=True))
    ranked = [adjusted for _, adjusted in sorted(zip(values, found, strict=True))]
    assert ranked == sorted(ranked)


def test_refused() -> None:
    with pytest.raises(ConfigError, match=r"p=1\.5 of a"):
        holm({"a": 1.5})
