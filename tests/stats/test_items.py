"""Tasks within a seed: repetitions count once, and seeds are never poured together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.errors import ConfigError
from esagent.stats.intervals import paired_gain
from esagent.stats.items import Items, compare_items
from esagent.stats.signflip import sign_flip

REWARDS = st.lists(st.integers(0, 4).map(lambda k: k / 4), min_size=1, max_size=25)


def items(rewards, arm: str = "soft", seed: int = 0, tasks: list[str] | None = None) -> Items:
    return Items(arm, seed, tuple(tasks or [f"t{i}" for i in range(len(rewards))]), tuple(rewards))


def test_by_hand() -> None:
    found = compare_items(items([0, 0.5, 1], "uniform"), items([1, 1, 1]))
    assert (found.n, found.test.mean, found.interval.gain) == (3, 0.5, 0.5)
    assert found.test.p_greater == 2 / 8  # 1, 0.5, 0: sums 1.5 twice of eight
    assert (found.seed, found.arm, found.baseline, found.left_out) == (0, "soft", "uniform", 0)


@settings(max_examples=25, deadline=None)
@given(REWARDS, st.integers(2, 4))
def test_every_repetition_written_again_changes_nothing(rewards: list[float], times: int) -> None:
    """Scenario 13."""
    base = [0.5] * len(rewards)
    once = compare_items(items(base, "uniform"), items(rewards))
    tasks = [f"t{i}" for i in range(len(rewards))] * times
    again = compare_items(items(base * times, "uniform", tasks=tasks), items(rewards * times, tasks=tasks))
    assert again.n == once.n == len(rewards)
    assert again.test.p_two_sided == once.test.p_two_sided
    assert again.interval == pytest.approx(once.interval, nan_ok=True)


def test_tasks_are_matched_by_id() -> None:
    base = items([0.0, 1.0], "uniform", tasks=["a", "b"])
    found = compare_items(base, items([1.0, 0.5, 0.9], tasks=["b", "a", "c"]))
    assert (found.n, found.left_out, found.test.mean) == (2, 1, 0.25)


def test_seeds_are_not_mixed() -> None:
    """Scenario 14: a hundred episodes of each of three seeds are not three hundred of anything."""
    with pytest.raises(ConfigError, match=r"tasks of seed 0 against tasks of seed 1: .* within one training seed"):
        compare_items(items([0.0], "uniform", seed=0), items([1.0], seed=1))
    episodes = np.random.default_rng(0).random((3, 100))
    with pytest.raises(ConfigError, match="at least one pair"):  # a table of seeds by episodes is no list of pairs
        sign_flip(episodes)
    assert sign_flip(episodes.mean(axis=1)).n == 3


def test_a_test_and_an_interval_of_the_same_tasks() -> None:
    rng = np.random.default_rng(0)
    base, trained = rng.random(40), rng.random(40) + 0.2
    found = compare_items(items(base, "uniform"), items(trained))
    assert found.test.mean == pytest.approx((trained - base).mean())
    assert found.interval == pytest.approx(paired_gain(base, trained), abs=1e-12)


def test_refused() -> None:
    with pytest.raises(ConfigError, match="no task was scored for both"):
        compare_items(items([0.0], "uniform", tasks=["a"]), items([1.0], tasks=["b"]))
    with pytest.raises(ConfigError, match="1 tasks, 2 rewards"):
        compare_items(items([0.0], "uniform"), items([1.0, 0.0], tasks=["t0"]))
