"""The search for a sigma: it ends at the target wherever the share crosses it, and says nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.calibration.search import FACTOR, FINE, LARGEST, SMALLEST, START, TOLERANCE, Search


def run(target: float, share: object, start: float = START) -> Search:
    search = Search(target, start)
    for _ in range(60):
        if search.next is None:
            return search
        search.tell(share(search.next))  # type: ignore[operator]
    raise AssertionError("the search does not end")


@given(st.floats(0.05, 0.9), st.floats(-10, 3), st.floats(1, 3))
def test_a_smooth_share_reaches_the_target(target: float, middle: float, width: float) -> None:
    """share(s) = logistic in log2 s: where it comes within the tolerance is known."""

    def crossing(share: float) -> float:
        return 2 ** (middle + width * math.log(share / (1 - share)))

    search = run(target, lambda s: 1 / (1 + math.exp((middle - math.log2(s)) / width)))
    assert search.reached
    slack = TOLERANCE + 1e-9
    assert crossing(target - slack) <= search.best <= crossing(target + slack)


@given(st.floats(-15, 8), st.floats(0.1, 0.9))
def test_a_jump_over_the_target_is_found_to_within_ten_percent(place: float, target: float) -> None:
    at = 2**place
    search = run(target, lambda s: 0.0 if s < at else 1.0)
    assert not search.reached
    low = max(s for s, share in search.tried.items() if share == 0.0)
    high = min(s for s, share in search.tried.items() if share == 1.0)
    assert low < at <= high < FINE * low
    assert search.best in (low, high)


@given(st.lists(st.floats(0, 1), min_size=60, max_size=60), st.floats(0.05, 0.95))
def test_it_ends_for_any_answers_and_gives_the_nearest(shares: list[float], target: float) -> None:
    answers = iter(shares)
    search = run(target, lambda s: next(answers))
    nearest = min(abs(share - target) for share in search.tried.values())
    slack = TOLERANCE if max(search.tried.values()) < target else 0.0
    assert nearest <= abs(search.tried[search.best] - target) <= nearest + slack + 1e-12


def test_where_nothing_changes_it_ends_at_the_largest_and_where_all_does_at_the_smallest() -> None:
    none, all_ = run(0.3, lambda s: 0.0), run(0.3, lambda s: 1.0)
    assert max(none.tried) * FACTOR > LARGEST
    assert min(all_.tried) / FACTOR < SMALLEST
    assert len(none.tried) < 10
    assert len(all_.tried) < 12


def test_a_first_try_that_fits_is_the_only_one() -> None:
    search = run(0.3, lambda s: 0.31, start=1.0)
    assert (list(search.tried), search.best) == ([1.0], 1.0)
    with pytest.raises(ValueError, match="over"):
        search.tell(0.5)


def test_of_shares_that_stay_below_the_target_the_smallest_sigma_that_does_as_much_is_taken() -> None:
    search = run(0.9, lambda s: 0.5 * min(1.0, s))
    assert search.tried[search.best] == 0.5
    assert search.best == 1.0
