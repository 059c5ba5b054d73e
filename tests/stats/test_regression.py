"""Lines against scipy and by hand; slopes by seed; responses over a setting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.regression import linear_fit, seed_slopes
from esagent.stats.response import response_curve, response_curves
from esagent.stats.signflip import sign_flip

X = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.95])
Y = 0.02 + 0.11 * X + np.random.default_rng(0).normal(0, 0.01, 6)


def test_equals_scipy() -> None:
    ours, theirs = linear_fit(X, Y), stats.linregress(X, Y)
    assert (ours.slope, ours.intercept, ours.r_squared, ours.p) == pytest.approx(
        (theirs.slope, theirs.intercept, theirs.rvalue**2, theirs.pvalue)
    )
    half = stats.t.ppf(0.975, 4) * theirs.stderr
    assert ours.interval == pytest.approx((theirs.slope - half, theirs.slope + half))
    half = stats.t.ppf(0.975, 4) * theirs.intercept_stderr
    low, high = ours.band([0.0])
    assert (low[0], high[0]) == pytest.approx((theirs.intercept - half, theirs.intercept + half))


def test_by_hand() -> None:
    """y = 1 3 2 at 0 1 2: slope 1/2, intercept 3/2; residuals -1/2 1 -1/2 leave 3/2 of 2."""
    fit = linear_fit([0, 1, 2], [1, 3, 2])
    assert (fit.slope, fit.intercept, fit.r_squared) == pytest.approx((0.5, 1.5, 0.25))


def test_two_points_have_a_line_and_no_interval() -> None:
    fit = linear_fit([0, 1], [1, 3])
    assert (fit.slope, fit.r_squared, fit.p) == (2, 1, 1)
    assert fit.interval == (-np.inf, np.inf)
    assert fit.band([0.5])[1] == np.inf


def test_points_on_a_line_and_points_on_a_level() -> None:
    assert linear_fit([0, 1, 2], [1, 2, 3]).interval == pytest.approx((1, 1))
    flat = linear_fit([0, 1, 2], [4, 4, 4])
    assert (flat.slope, flat.p) == (0, 1)
    assert np.isnan(flat.r_squared)


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=8), st.floats(-5, 5), st.floats(0.1, 5))
def test_moves_with_the_data(y: list[float], shift: float, scale: float) -> None:
    x = np.arange(len(y))
    fit, moved = linear_fit(x, y), linear_fit(x, scale * np.array(y) + shift)
    assert moved.slope == pytest.approx(scale * fit.slope, abs=1e-9)
    assert moved.intercept == pytest.approx(scale * fit.intercept + shift, abs=1e-8)
    assert fit.interval.low - 1e-9 <= fit.slope <= fit.interval.high + 1e-9


def test_slopes_are_counted_by_seed() -> None:
    """Three seeds give n = 3, not 3 x 6; the line through the means has the mean slope."""
    slopes = np.array([0.1, 0.2, 0.4])
    y = 0.3 + X[:, None] * slopes
    found = seed_slopes(X, y)
    assert found.slopes == pytest.approx(slopes)
    assert (found.test.n, found.test.p_greater) == (3, 1 / 8)
    assert found.interval == (-np.inf, np.inf)
    assert found.fit.slope == pytest.approx(slopes.mean())


def test_a_response_is_tested_at_every_value() -> None:
    d = np.random.default_rng(1).normal([[0.02], [0.0], [-0.05]], 0.01, (3, 8))
    curve = response_curve([0.0, 0.6, 0.3], d)
    assert [point.x for point in curve.points] == [0.0, 0.3, 0.6]
    assert curve.points[1].test == sign_flip(d[2])
    assert [point.n for point in curve.points] == [8, 8, 8]
    assert curve.slopes is not None
    assert curve.slopes.fit.slope == pytest.approx(linear_fit([0.0, 0.6, 0.3], d.mean(axis=1)).slope)
    assert response_curves([0.0], {"soft": d[:1]})["soft"].slopes is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: linear_fit([0], [1]), "two points"),
        (lambda: linear_fit([0, 0], [1, 2]), "two different x"),
        (lambda: linear_fit([0, 1], [1, np.nan]), "finite"),
        (lambda: seed_slopes([0, 1], [1, 2]), r"\[levels, seeds\]"),
        (lambda: response_curve([0, 1], [[1, 2]]), r"\[levels, seeds\]"),
        (lambda: response_curve([0, 0], [[1, 2], [1, 2]]), "each x once"),
    ],
)
def test_refused(call, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        call()
