"""Budgets: when a run ends, what counts, and how many steps are expected; by hand, and for any costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.episode import Completion, Turn
from esagent.core.ledger import Limit, cost_of, model_flops, step_cost, total, trajectory_tokens
from esagent.core.schedules import make_schedule
from esagent.errors import RunError

AFTERWARDS = ("tokens", "flops", "seconds")


def limit(kind: str, amount: float, least: int = 1) -> Limit:
    """Whole steps have 6 directions of 24 episodes."""
    return Limit(kind, amount, 6, 24, least)


def spend(budget: Limit, costs: list[float]) -> tuple[list[float], list[int]]:
    """What a run whose steps would cost `costs` spends, and at each of its steps how many were expected."""
    done: list[float] = []
    expected: list[int] = []
    while budget.next_directions(done):
        expected.append(budget.expected_steps(done))
        done.append(costs[len(done)])
    return done, expected


def test_a_number_of_steps() -> None:
    done, expected = spend(limit("steps", 3), [1.0] * 9)
    assert (done, expected) == ([1.0] * 3, [3, 3, 3])
    assert limit("steps", 0).next_directions([]) == 0


def test_the_last_step_gets_the_whole_directions_that_fit() -> None:
    budget = limit("episodes", 6 * 24 * 2 + 3 * 24 + 23)
    assert [budget.next_directions([144.0] * n) for n in range(3)] == [6, 6, 3]
    assert budget.next_directions([144.0, 144.0, 72.0]) == 0, "23 episodes are no whole direction"
    assert [budget.expected_steps([144.0] * n) for n in range(3)] == [3, 3, 3]
    assert budget.counted([144.0, 144.0, 72.0]) == 3


def test_a_last_step_that_says_nothing_is_left_out() -> None:
    """One member alone has nothing to be compared with."""
    assert limit("episodes", 144 + 24, least=2).next_directions([144.0]) == 0
    assert limit("episodes", 144 + 24, least=2).expected_steps([]) == 1
    assert limit("episodes", 144 + 48, least=2).next_directions([144.0]) == 2


@pytest.mark.parametrize("kind", AFTERWARDS)
def test_a_step_beyond_the_budget_does_not_count(kind: str) -> None:
    budget = limit(kind, 100)
    done, _ = spend(budget, [30.0, 31.0, 32.0, 33.0])
    assert done == [30.0, 31.0, 32.0], "7 are left and the cheapest step took 30"
    assert (budget.counted(done), budget.share(done)) == (3, 0.93)
    done, _ = spend(budget, [30.0, 28.0, 45.0, 1.0])
    assert done == [30.0, 28.0, 45.0], "42 were left, and a step of 28 would have fitted"
    assert (budget.counted(done), budget.share(done)) == (2, 1.0)
    exact, _ = spend(budget, [50.0, 50.0, 1.0])
    assert (exact, budget.counted(exact)) == ([50.0, 50.0], 2)


def test_a_budget_below_the_first_step() -> None:
    done, _ = spend(limit("tokens", 10), [11.0, 1.0])
    assert (done, limit("tokens", 10).counted(done)) == ([11.0], 0)


@pytest.mark.parametrize("kind", AFTERWARDS)
def test_expected_steps_by_hand(kind: str) -> None:
    budget = limit(kind, 100)
    _, expected = spend(budget, [9.0] * 20)
    assert expected == [1] + [11] * 10
    assert budget.expected_steps([20.0, 10.0]) == 2 + 4  # 70 left at 15 each
    assert budget.expected_steps([20.0, 10.0, 30.0]) == 4  # 40 left, and a step may take 30


@given(
    st.sampled_from(AFTERWARDS),
    st.floats(1, 200),
    st.lists(st.floats(1, 100), min_size=1, max_size=20),
)
def test_no_run_has_more_than_its_budget_nor_leaves_a_step(kind: str, amount: float, pattern: list[float]) -> None:
    budget = limit(kind, amount)
    stream = pattern * (int(amount / sum(pattern)) + 2)
    done, expected = spend(budget, stream)
    counted = budget.counted(done)
    spent = sum(done[:counted])
    assert spent <= amount
    assert len(done) - counted <= 1, "at most one step goes beyond"
    following = done[counted] if counted < len(done) else min(done)
    assert amount - spent < following
    assert all(t < of <= t + amount / min(stream) + 1 for t, of in enumerate(expected))


@given(st.floats(10, 200), st.lists(st.floats(5, 10), min_size=1, max_size=8), st.booleans())
def test_schedules_hit_both_ends(amount: float, pattern: list[float], dear: bool) -> None:
    """The last value is reached unless one of the last two steps is the costliest of all so far."""
    budget = limit("tokens", amount)
    done, expected = spend(budget, [10.0] * dear + pattern * 42)
    schedule = make_schedule("linear", 3.0, 1.0, steps=1)
    values = [schedule(t, of) for t, of in enumerate(expected)]
    last = budget.counted(done) - 1
    if last >= 0:
        assert values[0] == 3.0
    if last > 0 and max(done[last : last + 2]) <= max(done[:last]):
        assert values[last] == 1.0


@pytest.mark.parametrize("warmup", [0, 3])
@pytest.mark.parametrize("kind", ["linear", "cosine", "exponential"])
def test_equal_costs_give_the_schedule_of_as_many_steps(kind: str, warmup: int) -> None:
    by_tokens = make_schedule(kind, 0.8, 0.2, steps=warmup + 1, warmup=warmup)
    by_steps = make_schedule(kind, 0.8, 0.2, steps=10, warmup=warmup)
    budget = limit("tokens", 107)
    done, expected = spend(budget, [10.0] * 12)
    assert len(done) == 10
    assert [by_tokens(t, of) for t, of in enumerate(expected)] == [by_steps(t) for t in range(10)]


ROW = {"episodes": 4, "prompt_tokens": 70, "completion_tokens": 30, "flops": 5.0, "seconds": 2.0}
RECORD = {
    "step": 3,
    "rewards": [[0.0, 1.0], [1.0, 1.0]],
    "tasks": ["a", "b"],
    "cost": {"prompt_tokens": 70, "completion_tokens": 30, "shared_tokens": 60, "flops": 5.0},
    "seconds": 2.0,
}


@pytest.mark.parametrize(
    ("kind", "amount"), [("steps", 1), ("episodes", 4), ("tokens", 100), ("flops", 5), ("seconds", 2)]
)
def test_cost_of_a_step(kind: str, amount: float) -> None:
    assert cost_of(ROW, kind) == step_cost(RECORD, kind) == amount


def test_a_step_that_costs_nothing_would_never_end_a_run() -> None:
    with pytest.raises(RunError, match="step 3 counted no flops"):
        step_cost({**RECORD, "cost": {**RECORD["cost"], "flops": 0.0}}, "flops")  # type: ignore[dict-item]


def test_sums_leave_out_what_a_row_does_not_say() -> None:
    assert "message_bytes" not in total([ROW])
    sent = [{**ROW, "message_bytes": 5, "text_bytes": 7}, ROW, {**ROW, "message_bytes": 6, "text_bytes": None}]
    assert (total(sent)["message_bytes"], total(sent)["text_bytes"]) == (11, 7)
    sums = total([ROW, {**ROW, "shared_tokens": 7, "trajectory_tokens": None, "flops": "x"}])
    assert (sums["episodes"], sums["prompt_tokens"], sums["shared_tokens"], sums["flops"]) == (8, 140, 7, 5.0)
    assert total([])["episodes"] == 0


def test_flops_by_the_papers_models() -> None:
    found = model_flops({"prompt_tokens": 70, "completion_tokens": 30, "trajectory_tokens": 40}, 1000)
    assert found == {"processed": 2e5, "es": 8e4, "grpo": 3.2e5}


def test_a_conversation_is_counted_once() -> None:
    def turn(module: str, prompt: str, tokens: int) -> Turn:
        return Turn(module, prompt, Completion("x", prompt_tokens=tokens, completion_tokens=2))

    growing = [turn("policy", "Q", 10), turn("policy", "Q x R", 15), turn("policy", "Q x R y S", 21)]
    assert trajectory_tokens(growing) == 23
    apart = [turn("planner", "Q", 10), turn("caller", "Q x", 15), turn("caller", "other", 5)]
    assert trajectory_tokens(apart) == 12 + 17 + 7
    assert trajectory_tokens([]) == 0
