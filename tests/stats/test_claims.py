"""Each claim by its definition, each opposite as the other side of it, and the exact p it can reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.stats.claims import Evidence, every, smallest_claim_p, weigh
from esagent.stats.equivalence import equivalence
from esagent.stats.inversion import lower_bound, upper_bound
from esagent.stats.signflip import sign_flip
from esagent.stats.student import t_test

FLOATS = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
SAMPLES = st.lists(FLOATS, min_size=5, max_size=9)
CLAIMS = ("better", "worse", "no_better", "no_worse", "equivalent", "different")
MIRROR = {"better": "worse", "worse": "better", "no_better": "no_worse", "no_worse": "no_better"}
OPPOSITE = {"better": "no_better", "no_better": "better", "equivalent": "different", "different": "equivalent"}
D = np.array([0.01, 0.03, -0.01, 0.02, 0.025, 0.0])


def test_without_a_margin_they_are_the_sign_flip_test() -> None:
    test = sign_flip(D)
    assert weigh("better", D) == (test.p_greater, test.p_less)
    assert weigh("worse", D) == (test.p_less, test.p_greater)
    assert weigh("different", D).p == test.p_two_sided
    assert weigh("better", D, test="t") == (t_test(D).p_greater, t_test(D).p_less)


def test_at_a_margin_they_are_shifted() -> None:
    assert weigh("no_better", D, 0.02) == (sign_flip(D - 0.02).p_less, sign_flip(D - 0.02).p_greater)
    assert weigh("worse", D, 0.02).p == sign_flip(D + 0.02).p_less
    assert weigh("equivalent", D, 0.02).p == equivalence(D, 0.02).exact.p
    assert weigh("equivalent", D, 0.02, "t").p == pytest.approx(equivalence(D, 0.02).t.p)


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.floats(0.0, 0.5), st.sampled_from(CLAIMS))
def test_mirrored_differences_swap_better_and_worse(d: list[float], margin: float, claim: str) -> None:
    assert weigh(claim, d, margin) == weigh(MIRROR.get(claim, claim), [-x for x in d], margin)


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.floats(0.01, 0.5), st.sampled_from(sorted(OPPOSITE)))
def test_an_opposite_is_the_other_claim(d: list[float], margin: float, claim: str) -> None:
    there, here = weigh(OPPOSITE[claim], d, margin), weigh(claim, d, margin)
    assert here == (there.opposite, there.p)
    assert max(here) > 0.5 - 1e-9  # both are never shown


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.floats(0.001, 0.5))
def test_no_better_is_an_upper_bound_below_the_margin(d: list[float], margin: float) -> None:
    high, low = upper_bound(d, 0.9), lower_bound(d, 0.9)
    if abs(high - margin) > 1e-6:
        assert (weigh("no_better", d, margin).p <= 0.1 + 1e-12) == (high < margin)
    if abs(low + margin) > 1e-6:
        assert (weigh("no_worse", d, margin).p <= 0.1 + 1e-12) == (low > -margin)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_smallest_p_is_reached_and_not_beaten(claim: str) -> None:
    far = {"worse": -9.0, "no_better": -9.0, "equivalent": 0.0}.get(claim, 9.0)
    d = far + np.linspace(-0.1, 0.1, 6)
    assert weigh(claim, d, 1.0).p == smallest_claim_p(claim, 6)


def test_every_arm_must_show_it_and_one_is_enough_against() -> None:
    assert every([Evidence(0.01, 0.9), Evidence(0.2, 0.03)]) == (0.2, 0.06)
    assert every([Evidence(0.5, 0.8), Evidence(0.5, 0.9)]) == (0.5, 1.0)
