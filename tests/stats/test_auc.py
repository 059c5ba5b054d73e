import math

import pytest

from esagent.errors import ConfigError
from esagent.stats.auc import auc


def test_hand_computed() -> None:
    assert auc([0, 4, 8], [0.2, 0.4, 0.4]) == pytest.approx((0.3 * 4 + 0.4 * 4) / 8)
    assert auc([0, 1, 4], [0.0, 1.0, 1.0]) == pytest.approx((0.5 + 3) / 4)
    assert auc([0, 100], [0.5, 0.5]) == pytest.approx(0.5)


def test_one_budget_for_curves_of_unequal_length() -> None:
    assert auc([0, 4], [0.0, 1.0], budget=8) == pytest.approx((2 + 4) / 8)
    assert auc([0, 4, 8], [0.0, 1.0, 5.0], budget=4) == pytest.approx(0.5)
    assert auc([0, 8], [0.0, 1.0], budget=4) == pytest.approx(0.25)
    assert auc([2, 4], [1.0, 1.0], budget=8) == pytest.approx(1.0)


def test_one_point_is_its_own_area() -> None:
    assert auc([0], [0.3]) == 0.3
    assert auc([0], [0.3], budget=5) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("spent", "values", "budget", "message"),
    [
        ([], [], None, "as many values"),
        ([0, 1], [0.1], None, "as many values"),
        ([0, 0], [0.1, 0.2], None, "strictly rising"),
        ([0, 1], [0.1, math.nan], None, "finite"),
        ([0, 1], [0.1, 0.2], 0, "budget=0"),
        ([0, 1], [0.1, 0.2], math.nan, "budget=nan"),
    ],
)
def test_what_is_no_curve_is_refused(spent: list, values: list, budget: float | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        auc(spent, values, budget)
