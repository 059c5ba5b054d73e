"""Schedules: exact ends, closed forms, warm-up, one-step runs, refused input."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.schedules import make_schedule
from esagent.errors import ConfigError

KINDS = ("constant", "linear", "cosine", "exponential")
EVERY = pytest.mark.parametrize("kind", KINDS)


@EVERY
@given(start=st.floats(1e-6, 10), end=st.floats(1e-6, 10), steps=st.integers(2, 200), data=st.data())
def test_both_ends_are_hit_exactly_and_values_stay_between(kind: str, start, end, steps, data) -> None:
    warmup = data.draw(st.integers(0, steps - 2))
    end = start if kind == "constant" else end
    f = make_schedule(kind, start, end, steps=steps, warmup=warmup)
    assert f(warmup) == start
    assert f(steps - 1) == end
    low, high = min(start, end), max(start, end)
    values = [f(t) for t in range(warmup, steps)]
    assert all(low * (1 - 1e-12) <= value <= high * (1 + 1e-12) for value in values)
    assert f(steps + 5) == end


@EVERY
def test_warmup_rises_linearly_from_above_zero(kind: str) -> None:
    f = make_schedule(kind, 0.8, 0.8, steps=10, warmup=3)
    assert [f(t) for t in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize(
    ("kind", "middle"), [("constant", 1.0), ("linear", 0.625), ("cosine", 0.625), ("exponential", 0.5)]
)
def test_half_way_by_hand(kind: str, middle: float) -> None:
    assert make_schedule(kind, 1.0, 0.25, steps=5)(2) == pytest.approx(middle)


def test_cosine_quarter_by_hand() -> None:
    f = make_schedule("cosine", 1e-3, 5e-4, steps=25)
    assert f(6) == pytest.approx(5e-4 + 2.5e-4 * (1 + math.cos(math.pi / 4)))


@EVERY
@pytest.mark.parametrize(("steps", "warmup"), [(1, 0), (4, 3)])
def test_a_single_step_after_warmup_takes_the_start_value(kind: str, steps: int, warmup: int) -> None:
    assert make_schedule(kind, 0.7, 0.1, steps=steps, warmup=warmup)(steps - 1) == 0.7


@EVERY
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"start": -1.0}, "start"),
        ({"start": math.nan}, "start"),
        ({"start": math.inf}, "start"),
        ({"steps": 0}, "at least 1 step"),
        ({"warmup": 5}, "between 0 and 4"),
        ({"warmup": -1}, "warmup"),
    ],
)
def test_bad_input_is_refused(kind: str, settings: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_schedule(kind, **({"start": 1.0, "end": 0.5, "steps": 5} | settings))


def test_an_exponential_cannot_reach_zero_and_an_unknown_kind_is_named() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        make_schedule("exponential", 1.0, 0.0, steps=3)
    with pytest.raises(ConfigError, match="'cosin'"):
        make_schedule("cosin", 1.0, 0.0, steps=3)


def test_whole_schedules_by_hand() -> None:
    """T = 5: u = 0, 1/4, 1/2, 3/4, 1; the cosine is 1, 0.8536, 0.5, 0.1464, 0 of the way from end to start."""
    half = math.sqrt(0.5) / 2
    expected = {
        "constant": [2.0] * 5,
        "linear": [2.0, 1.75, 1.5, 1.25, 1.0],
        "cosine": [2.0, 1.5 + half, 1.5, 1.5 - half, 1.0],
        "exponential": [2.0, 2**0.75, 2**0.5, 2**0.25, 1.0],
    }
    for kind, values in expected.items():
        f = make_schedule(kind, 2.0, 1.0, steps=5)
        assert [f(t) for t in range(5)] == pytest.approx(values, rel=1e-12)


def test_a_warmup_then_the_whole_schedule() -> None:
    """W = 2 of T = 5: thirds of the start, then u = 0, 1/2, 1 at t = 2, 3, 4."""
    assert [make_schedule("linear", 0.9, 0.1, steps=5, warmup=2)(t) for t in range(5)] == pytest.approx(
        [0.3, 0.6, 0.9, 0.5, 0.1]
    )


def test_a_schedule_may_end_at_zero_but_for_an_exponential() -> None:
    """Agentic ESOpt's AHD setting: sigma 1e-3 to 0."""
    assert make_schedule("cosine", 1e-3, 0.0, steps=25)(24) == 0.0
    assert make_schedule("linear", 1e-3, 0.0, steps=25)(24) == 0.0
