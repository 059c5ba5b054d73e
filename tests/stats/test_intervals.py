import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from esagent.errors import ConfigError
from esagent.stats.intervals import SMALL, mean_interval, paired_gain


def _rewards(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    base = rng.choice([0.0, 0.25, 0.5, 1.0], n)
    return base, np.clip(base + rng.choice([-0.25, 0.0, 0.0, 0.5], n), 0, 1)


@pytest.mark.parametrize("n", [6, 64])
@pytest.mark.parametrize("copies", [2, 3, 10])
def test_duplicated_repetitions_do_not_shrink_the_interval(n: int, copies: int) -> None:
    base, trained = _rewards(n)
    tasks = [f"t{i}" for i in range(n)]
    once = paired_gain(base, trained, tasks)
    many = paired_gain(np.tile(base, copies), np.tile(trained, copies), tasks * copies)
    assert many == pytest.approx(once, abs=1e-12)
    assert mean_interval(np.tile(base, copies), tasks * copies) == pytest.approx(mean_interval(base, tasks), abs=1e-12)


def test_differing_repetitions_count_as_one_task_each() -> None:
    base, trained = _rewards(64)
    tasks = [f"t{i // 2}" for i in range(64)]
    pairs = (trained - base).reshape(32, 2).mean(axis=1)
    assert paired_gain(base, trained, tasks) == pytest.approx(mean_interval(pairs), abs=1e-12)


def test_large_samples_agree_with_the_normal_interval() -> None:
    rng = np.random.default_rng(1)
    base, gain = rng.normal(0.4, 0.2, 2000), rng.normal(0.1, 0.3, 2000)
    found = paired_gain(base, base + gain)
    half = 1.96 * gain.std(ddof=1) / math.sqrt(2000)
    assert found.gain == pytest.approx(gain.mean())
    assert found.low == pytest.approx(gain.mean() - half, abs=0.05 * half)
    assert found.high == pytest.approx(gain.mean() + half, abs=0.05 * half)


def test_pairing_takes_the_spread_between_tasks_out() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(100)
    found = paired_gain(base, base + 0.1 + rng.normal(0, 0.01, 100))
    assert found.high - found.low < 0.01


def test_the_interval_follows_the_skew() -> None:
    values = np.r_[np.zeros(55), np.ones(5)]
    mean, low, high = mean_interval(values)
    assert high - mean > mean - low
    assert low > 0


def test_few_tasks_get_students_interval() -> None:
    values = [0.1, 0.5, 0.2, 0.6]
    mean, low, high = mean_interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean, low, high) == pytest.approx((0.35, expected.low, expected.high))


@pytest.mark.parametrize(
    ("base", "trained", "expected"), [([0.2] * 64, [0.5] * 64, 0.3), ([1.0, 0.0] * 20, [1.0, 0.0] * 20, 0.0)]
)
def test_equal_differences_have_no_width(base: list[float], trained: list[float], expected: float) -> None:
    assert paired_gain(base, trained) == pytest.approx((expected,) * 3)


def test_one_task_has_no_interval() -> None:
    gain, low, high = paired_gain([0.2, 0.4], [0.5, 0.5], ["a", "a"])
    assert gain == pytest.approx(0.2)
    assert math.isnan(low)
    assert math.isnan(high)


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), min_size=2, max_size=SMALL + 20))
def test_always_an_interval_around_the_mean_in_any_order(values: list[float]) -> None:
    mean, low, high = mean_interval(values)
    assert low <= mean <= high
    assert mean_interval(values[::-1]) == (mean, low, high)
    assert (low == high) == (len(set(values)) == 1)


def test_coverage_of_a_skewed_mean_is_near_nominal() -> None:
    values, rng = np.array([-0.5, 0, 0, 0, 0, 0, 0.25, 0.5, 1.0]), np.random.default_rng(3)
    for n in (8, 40):
        samples = (mean_interval(rng.choice(values, n)) for _ in range(200))
        covered = sum(low <= values.mean() <= high for _, low, high in samples)
        assert 0.86 <= covered / 200 <= 0.99


@pytest.mark.parametrize(
    ("base", "trained", "tasks", "message"),
    [
        ([1.0], [1.0, 2.0], None, "1 base, 2 trained"),
        ([], [], None, "at least one number"),
        ([[1.0]], [[1.0]], None, r"shape \[1, 1\]"),
        ([1.0, math.nan], [1.0, 1.0], None, r"base\[1\] is nan"),
        ([1.0], [math.inf], None, r"trained\[0\] is inf"),
        ([1.0, 1.0], [1.0, 1.0], ["a"], "1 task ids do not fit 2 values"),
    ],
)
def test_bad_data_is_named(base: list, trained: list, tasks: list[str] | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        paired_gain(base, trained, tasks)
