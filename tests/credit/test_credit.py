"""Blame by the earliest wrong module, the moving share of it, propensities and noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.config.schema import CreditConfig
from esagent.core.episode import Score
from esagent.credit.belief import Belief, Judged, belief_of, first_belief, judge, learn
from esagent.credit.blame import blame_counts, first_failing
from esagent.credit.noise import blame_draws, noisy_blame
from esagent.credit.reach import debiased, reach_counts, reached_after
from esagent.credit.share import credit_after

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


WRONG = Score(0.2, {"planner": 1.0, "caller": 0.5})
SOLVED = Score(1.0, {"planner": 0.5}, success=True)
BROKEN = Score(0.0, {"planner": 0.0}, unscored=True)
NOBODY = Score(0.5, {"planner": 1.0})


def test_counts_leave_out_solved_and_unscored_episodes() -> None:
    counts = blame_counts([WRONG, WRONG, SOLVED, BROKEN, NOBODY], MODULES)
    assert counts == {"planner": 0, "selector": 0, "caller": 2, "synthesizer": 0}


def test_a_module_is_reached_where_all_before_it_were_right() -> None:
    planless = Score(0.0, {"planner": 0.0, "selector": 1.0})
    counts = reach_counts([WRONG, planless, BROKEN, NOBODY], MODULES)
    assert counts == {"planner": 3, "selector": 2, "caller": 2, "synthesizer": 1}


def credit(before, counts, rate: float = 0.2, smoothing: float = 1.0) -> list[float]:
    return credit_after(np.array(before), np.array(counts), rate, smoothing).tolist()


def test_share_by_hand() -> None:
    # (3 + 1) / (3 + 2) and (0 + 1) / (3 + 2), a quarter of the way from 1/2
    assert credit([0.5, 0.5], [3, 0], 0.25) == pytest.approx([0.75 * 0.5 + 0.25 * 0.8, 0.75 * 0.5 + 0.25 * 0.2])


def test_a_step_without_failures_changes_nothing() -> None:
    assert credit([[0.7, 0.3], [0.5, 0.5]], [[0, 0], [1, 0]])[0] == [0.7, 0.3]
    assert credit([0.7, 0.3], [0, 0], smoothing=0.0) == [0.7, 0.3]


def test_constant_blame_converges_to_the_smoothed_share() -> None:
    found = [0.25] * 4
    for _ in range(200):
        found = credit(found, [0, 0, 12, 0])
    assert found == pytest.approx([1 / 16, 1 / 16, 13 / 16, 1 / 16])


@given(
    st.lists(st.lists(st.integers(0, 1000), min_size=4, max_size=4), max_size=30), st.floats(0.01, 1), st.floats(0, 10)
)
def test_credit_is_always_a_distribution(history, rate: float, smoothing: float) -> None:
    found = [0.25] * 4
    for counts in history:
        found = credit(found, counts, rate, smoothing)
        assert all(value >= 0 for value in found)
        assert sum(found) == pytest.approx(1.0, abs=1e-12)


def test_propensities_by_hand() -> None:
    before, counts = np.array([[1.0, 0.5], [1.0, 0.5]]), np.array([[8, 2], [0, 0]])
    after = reached_after(before, counts, np.array([8, 0]), rate=0.25, smoothing=2.0)
    np.testing.assert_allclose(after, [[1.0, 0.75 * 0.5 + 0.25 * 0.4], [1.0, 0.5]])


def test_debiasing_is_clipped_and_keeps_a_distribution() -> None:
    found = debiased(np.array([0.5, 0.4, 0.1]), np.array([1.0, 0.5, 0.0]), 0.1)
    np.testing.assert_allclose(found, np.array([0.5, 0.8, 1.0]) / 2.3)


def test_noise_replaces_a_share_of_blame_by_the_others_equally() -> None:
    blamed = np.repeat([0, 1, 2, -1], 10_000)
    told = noisy_blame(blamed, blame_draws(3, 7, len(blamed)), 0.3, 3)
    assert (told[blamed == -1] == -1).all()
    for module in range(3):
        counts = np.bincount(told[blamed == module], minlength=3) / 10_000
        expected = np.where(np.arange(3) == module, 0.7, 0.15)
        np.testing.assert_allclose(counts, expected, atol=4 * np.sqrt(0.25 / 10_000))


def test_noise_of_an_episode_depends_on_seed_step_and_place_alone() -> None:
    np.testing.assert_array_equal(blame_draws(1, 2, 5), blame_draws(1, 2, 9)[:5])
    assert not np.array_equal(blame_draws(1, 2, 5), blame_draws(1, 3, 5))
    assert not np.array_equal(blame_draws(1, 2, 5), blame_draws(2, 2, 5))
    blamed = np.array([0, 1, 1])
    np.testing.assert_array_equal(noisy_blame(blamed, blame_draws(0, 0, 3), 0.0, 2), blamed)
    np.testing.assert_array_equal(noisy_blame(blamed, blame_draws(0, 0, 3), 1.0, 2), 1 - blamed)
    np.testing.assert_array_equal(noisy_blame(blamed * 0, blame_draws(0, 0, 3), 1.0, 1), 0)  # no other to blame


def test_a_step_is_judged_and_learned_from() -> None:
    planless = Score(0.0, {"planner": 0.0})
    judged = judge([WRONG, WRONG, planless, SOLVED, BROKEN], MODULES, seed=0, step=0, noise=0.0)
    assert judged == Judged(
        4,
        {"planner": 1, "selector": 0, "caller": 2, "synthesizer": 0},
        {"planner": 4, "selector": 2, "caller": 2, "synthesizer": 0},
    )
    after = learn(first_belief(MODULES), judged, CreditConfig(rate=0.5, smoothing=1.0))
    assert after.credit == pytest.approx(
        {"planner": 1 / 8 + 1 / 7, "selector": 1 / 8 + 1 / 14, "caller": 1 / 8 + 3 / 14, "synthesizer": 1 / 8 + 1 / 14}
    )
    assert after.reached == pytest.approx({"planner": 1.0, "selector": 0.8, "caller": 0.8, "synthesizer": 0.6})
    noisy = judge([WRONG] * 40, MODULES, seed=0, step=0, noise=1.0)
    assert noisy.blamed["caller"] == 0
    assert sum(noisy.blamed.values()) == 40


def test_the_order_of_names_does_not_change_a_bit() -> None:
    """A journal gives them back in another order than the agent has them in."""
    names = [f"module-{i}" for i in range(9)]
    judged = Judged(90, {name: 3 * i + 1 for i, name in enumerate(names)}, dict.fromkeys(names, 60))
    belief, back = first_belief(names), first_belief(names[::-1])
    for _ in range(20):
        belief, back = learn(belief, judged, CreditConfig(rate=0.3)), learn(back, judged, CreditConfig(rate=0.3))
        back = Belief(dict(reversed(back.credit.items())), dict(reversed(back.reached.items())))
    assert back == belief


def test_what_was_believed_follows_from_the_newest_record() -> None:
    records = [{"credit": {"a": 0.9, "b": 0.1}, "reached": {"a": 1.0, "b": 0.4}}]
    assert belief_of(records, "ab") == Belief(**records[0])
    assert belief_of([{"credit": {"a": 0.9, "b": 0.1}}], "ab") == Belief({"a": 0.9, "b": 0.1}, {"a": 1.0, "b": 1.0})
    assert belief_of([], "ab") == Belief({"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 1.0})
