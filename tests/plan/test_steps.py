"""Steps within a budget, by hand."""

from __future__ import annotations

import pytest

from esagent.core.ledger import Limit
from esagent.plan.steps import Steps, steps_within


@pytest.mark.parametrize(
    ("kind", "amount", "found"),
    [
        ("steps", 7, Steps(7)),
        ("episodes", 2 * 144 + 3 * 24 + 5, Steps(2, 3)),
        ("episodes", 2 * 144, Steps(2)),
        ("episodes", 2 * 144 + 24, Steps(2)),  # one direction is less than the least that a step needs
        ("tokens", 30.0, Steps(2)),
        ("tokens", 29.0, Steps(1)),
        ("tokens", 5.0, Steps(0)),
    ],
)
def test_steps_within(kind: str, amount: float, found: Steps) -> None:
    """Steps cost 10, 20, 30, ... in all."""
    assert steps_within(Limit(kind, amount, 6, 24, 2), lambda count: 10.0 * count * (count + 1) / 2) == found


def test_a_cost_that_is_not_known() -> None:
    assert steps_within(Limit("flops", 1e12, 6, 24), None) is None
    assert steps_within(Limit("episodes", 144, 6, 24), None) == Steps(1)
    assert Steps(2, 3).count == 3
