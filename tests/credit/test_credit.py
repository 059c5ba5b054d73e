"""Blame by the earliest wrong module, and the moving share of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.episode import Score
from esagent.credit.blame import blame_counts, first_failing
from esagent.credit.share import uniform_credit, update_credit
from esagent.errors import ConfigError

MODULES = ("planner", "selector", "caller", "synthesizer")


@pytest.mark.parametrize(
    ("signals", "blamed"),
    [
        ({"planner": 1.0, "selector": 0.5, "caller": 0.0}, "selector"),
        ({"caller": 0.0, "planner": 0.99}, "planner"),
        ({"planner": 1.0, "synthesizer": 0.0}, "synthesizer"),
        ({"planner": 1.0, "selector": 1.0}, None),
        ({}, None),
    ],
)
def test_the_earliest_wrong_module_is_blamed(signals, blamed) -> None:
    assert first_failing(signals, MODULES) == blamed


def test_counts_leave_out_solved_and_unscored_episodes() -> None:
    wrong = Score(0.2, {"planner": 1.0, "caller": 0.5})
    solved = Score(1.0, {"planner": 0.5}, success=True)
    broken = Score(0.0, {"planner": 0.0}, unscored=True)
    nobody = Score(0.5, {"planner": 1.0})
    counts = blame_counts([wrong, wrong, solved, broken, nobody], MODULES)
    assert counts == {"planner": 0, "selector": 0, "caller": 2, "synthesizer": 0}


def test_share_by_hand() -> None:
    # (3 + 1) / (3 + 2) and (0 + 1) / (3 + 2), a quarter of the way from 1/2
    credit = update_credit(uniform_credit("ab"), {"a": 3, "b": 0}, rate=0.25, smoothing=1.0)
    assert credit == pytest.approx({"a": 0.75 * 0.5 + 0.25 * 0.8, "b": 0.75 * 0.5 + 0.25 * 0.2})


def test_a_step_without_failures_changes_nothing() -> None:
    assert update_credit({"a": 0.7, "b": 0.3}, {"a": 0, "b": 0}) == {"a": 0.7, "b": 0.3}


def test_constant_blame_converges_to_the_smoothed_share() -> None:
    credit = uniform_credit(MODULES)
    for _ in range(200):
        credit = update_credit(credit, {"caller": 12})
    assert credit == pytest.approx({"planner": 1 / 16, "selector": 1 / 16, "caller": 13 / 16, "synthesizer": 1 / 16})


@given(
    st.lists(st.dictionaries(st.sampled_from(MODULES), st.integers(0, 1000)), max_size=30),
    st.floats(0.01, 1),
    st.floats(0, 10),
)
def test_credit_is_always_a_distribution(history, rate: float, smoothing: float) -> None:
    credit = uniform_credit(MODULES)
    for counts in history:
        credit = update_credit(credit, counts, rate, smoothing)
        assert all(value >= 0 for value in credit.values())
        assert sum(credit.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("rate", "smoothing"), [(0.0, 1.0), (1.5, 1.0), (0.5, -1.0)])
def test_bad_settings_are_refused(rate: float, smoothing: float) -> None:
    with pytest.raises(ConfigError, match="rate"):
        update_credit({"a": 1.0}, {"a": 1}, rate, smoothing)
