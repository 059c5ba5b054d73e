"""Student's t against scipy, and where scipy has no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.student import t_interval, t_test

D = np.random.default_rng(0).normal(0.2, 1.0, 9)


@pytest.mark.parametrize("shift", [0.0, 0.3, -1.0])
def test_equals_scipy(shift: float) -> None:
    ours = t_test(D, shift)
    for name, p in (("two-sided", ours.p_two_sided), ("greater", ours.p_greater), ("less", ours.p_less)):
        assert p == pytest.approx(stats.ttest_1samp(D, shift, alternative=name).pvalue, rel=1e-12)
    assert (ours.n, ours.mean, ours.sd) == (9, pytest.approx(D.mean()), pytest.approx(D.std(ddof=1)))
    assert t_interval(D, 0.9) == pytest.approx(stats.ttest_1samp(D, 0).confidence_interval(0.9))


def test_one_pair_says_nothing() -> None:
    assert (t_test([0.3]).p_two_sided, t_interval([0.3])) == (1.0, (-math.inf, math.inf))


def test_differences_without_spread_decide() -> None:
    assert (t_test([0.5, 0.5]).p_greater, t_test([0.5, 0.5]).p_less) == (0.0, 1.0)
    assert t_test([0.5, 0.5], 0.5).p_two_sided == 1.0


def test_refused() -> None:
    with pytest.raises(ConfigError, match="at least one pair"):
        t_test([])
    with pytest.raises(ConfigError, match="between 0 and 1"):
        t_interval(D, 1.0)
