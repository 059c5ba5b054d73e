"""Attainable p by counting, power against the non-central t and against its own definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.planning import plan_power
from esagent.stats.power import CLAIMS, attainable, pairs_needed, power


@pytest.mark.parametrize(("family", "two_sided", "one_sided"), [(1, 6, 5), (2, 7, 6), (6, 8, 7)])
def test_seeds_needed(family: int, two_sided: int, one_sided: int) -> None:
    """2/2^6 = 0.03125 <= 0.05 < 2/2^5; 2/2^8 = 0.0078 <= 0.05/6 = 0.0083 < 2/2^7."""
    assert pairs_needed(0.05, family) == two_sided
    assert pairs_needed(0.05, family, two_sided=False) == one_sided
    assert attainable(two_sided, 0.05, family).can_show_difference
    assert not attainable(two_sided - 1, 0.05, family).can_show_difference
    assert attainable(one_sided, 0.05, family).can_show_direction
    assert not attainable(one_sided - 1, 0.05, family).can_show_direction


@pytest.mark.parametrize("n", [4, 9, 30])
def test_student_power_is_that_of_the_non_central_t(n: int) -> None:
    centre = 0.6 * math.sqrt(n)
    critical = stats.t.isf(0.05, n - 1)
    assert power("better", n, 0.6, 1.0).t == pytest.approx(stats.nct.sf(critical, n - 1, centre), abs=2e-4)
    critical = stats.t.isf(0.025, n - 1)
    both = stats.nct.sf(critical, n - 1, centre) + stats.nct.cdf(-critical, n - 1, centre)
    assert power("different", n, 0.6, 1.0).t == pytest.approx(both, abs=2e-4)


def test_power_at_the_edge_of_the_null_is_alpha() -> None:
    assert power("better", 30, 0.0, 1.0).t == pytest.approx(0.05, abs=1e-3)
    assert power("no_better", 30, 0.5, 1.0, margin=0.5).t == pytest.approx(0.05, abs=1e-3)
    assert power("equivalent", 30, 1.5, 1.0, margin=1.5).t == pytest.approx(0.05, abs=1e-3)
    assert power("different", 10, 0.0, 1.0).exact == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_exact_test_comes_near_student_at_fourteen_pairs(claim: str) -> None:
    found = power(claim, 14, 0.0 if claim in ("no_better", "equivalent") else 0.8, 1.0, margin=0.9)
    assert found.exact == pytest.approx(found.t, abs=0.04)


def test_what_cannot_be_attained_has_no_power() -> None:
    assert power("different", 5, 10.0, 1.0).exact == 0.0
    assert power("better", 6, 10.0, 1.0, family=6).exact == 0.0
    assert power("better", 7, 10.0, 1.0, family=6).exact == 1.0


def test_equivalence_power_against_simulation() -> None:
    rng = np.random.default_rng(0)
    d = rng.normal(0.1, 1.0, (4000, 24))
    below = stats.ttest_1samp(d, -0.8, axis=1, alternative="greater").pvalue
    above = stats.ttest_1samp(d, 0.8, axis=1, alternative="less").pvalue
    simulated = np.mean(np.maximum(below, above) <= 0.05)
    assert power("equivalent", 24, 0.1, 1.0, margin=0.8).t == pytest.approx(simulated, abs=0.03)


def test_a_plan_holds_what_was_asked_for() -> None:
    plan = plan_power([6, 30], alpha=0.05, family=2, effect=None, sd=None, margin=None)
    assert [powers for _, powers in plan.rows] == [(), ()]
    plan = plan_power([30], alpha=0.05, family=1, effect=None, sd=0.02, margin=0.02)
    assert [found.claim for found in plan.rows[0][1]] == ["no_better", "equivalent"]
    plan = plan_power([30], alpha=0.05, family=1, effect=0.5, sd=None, margin=None)
    assert (plan.sd, [found.claim for found in plan.rows[0][1]]) == (1.0, ["different", "better"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("better", 1, 0.1, 1.0), "power of one pair"),
        (("better", 8, 0.1, 0.0), "above 0"),
        (("bigger", 8, 0.1, 1.0), "claim=bigger"),
        (("equivalent", 8, 0.1, 1.0), "needs one above 0"),
    ],
)
def test_refused(arguments: tuple, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        power(*arguments)
    with pytest.raises(ConfigError, match="at least 1"):
        attainable(0)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        pairs_needed(0.0)
