"""What became of each block, from rows of metrics by hand."""

from __future__ import annotations

import pytest

from esagent.blocks import block_summary


def step(number: int, a: int, b: int, moved: float) -> dict:
    directions = {"a": a, "b": b}
    return {
        "step": number,
        "directions": directions,
        "moved": {"a": moved, "b": 0.0},
        "signal": {name: float(count > 0) for name, count in directions.items()},
    }


STEPS = [step(0, 3, 1, 0.5), step(1, 4, 0, 0.25), step(2, 2, 2, 0.125)]


def evaluation(number: int, split: str = "pool", **blamed: int) -> dict:
    return {"step": number, "split": split, "blamed": blamed}


def test_by_hand() -> None:
    rows = [evaluation(0, a=5, b=0), evaluation(2, a=0, b=1), evaluation(0, "heldout", a=0, b=0)]
    found = block_summary(STEPS, rows, {"a": 0.75})
    assert found["a"] == {
        "directions": 9,
        "starved": 0.0,
        "path": pytest.approx(0.875),
        "displacement": 0.75,
        "signal": 3.0,
        "wasted": 2,  # from state 2 on
    }
    assert found["b"] == {
        "directions": 3,
        "starved": 1 / 3,
        "path": 0.0,
        "displacement": None,
        "signal": 2.0,
        "wasted": 1,  # before state 2
    }


def test_what_cannot_be_blamed_wastes_nothing_that_is_known() -> None:
    found = block_summary(STEPS, [evaluation(0, planner=1)], {})
    assert found["a"]["wasted"] is None
    assert block_summary([], [], {}) == {}
