"""Tasks of a step: epochs walk the pool, and draws by variance go where members differ."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.config.schema import TaskSampling
from esagent.core.episode import Task
from esagent.task_sampling import FLOOR, reward_variance, step_tasks, weights

POOL = [Task(f"t{i}", "toy", "train", f"question {i}", (), {}) for i in range(12)]


def record(rewards: dict[str, list[float]], dropped: tuple[str, ...] = ()) -> dict:
    """A journal record of one reward per member for each task."""
    return {
        "tasks": [*rewards, *dropped],
        "dropped": list(dropped),
        "rewards": [list(row) for row in zip(*rewards.values(), strict=True)],
    }


@pytest.mark.parametrize("sampling", TaskSampling)
@given(seed=st.integers(0, 2**32), step=st.integers(0, 50), count=st.integers(1, 12))
def test_the_tasks_are_of_the_pool_no_two_alike_and_keyed_by_seed_and_step(sampling, seed, step, count) -> None:
    drawn = step_tasks(sampling, POOL, seed, step, count, [])
    assert len({task.id for task in drawn}) == count
    assert {task.id for task in drawn} <= {task.id for task in POOL}
    assert drawn == step_tasks(sampling, POOL, seed, step, count, [])
    others = [step_tasks(sampling, POOL, seed + i, step, 12, []) for i in range(4)]
    assert any(other != others[0] for other in others)


def test_an_epoch_uses_every_task_once() -> None:
    seen = Counter(t.id for step in range(6) for t in step_tasks(TaskSampling.uniform, POOL, 3, step, 4, []))
    assert seen == {task.id: 2 for task in POOL}


def test_the_variance_is_over_members_of_the_last_step_that_scored_a_task() -> None:
    records = [
        record({"t0": [0.0, 1.0], "t1": [0.5, 0.5]}),
        record({"t1": [0.0, 0.4], "t2": [1.0, 1.0]}, dropped=("t0",)),
    ]
    assert reward_variance(records) == pytest.approx({"t0": 0.25, "t1": 0.04, "t2": 0.0})


def test_members_that_are_not_finite_are_left_out() -> None:
    records = [
        record({"t0": [0.0, 1.0, float("nan")], "t1": [0.5, 0.5, 0.1]}),
        record({"t0": [float("nan")] * 2, "t1": [0.1, float("inf")]}),
    ]
    assert reward_variance(records) == pytest.approx({"t0": 0.25, "t1": 0.0})


def test_weights_are_the_floor_and_the_share_of_the_mean_variance() -> None:
    found = weights(POOL[:4], {"t0": 0.3, "t1": 0.1, "t2": 0.0})
    assert found == pytest.approx([FLOOR + 2.25, FLOOR + 0.75, FLOOR, FLOOR + 1.0])
    assert weights(POOL[:2], {}) == weights(POOL[:2], {"t0": 0.0}) == [1.0 + FLOOR] * 2


def test_the_first_of_a_draw_comes_in_proportion_to_its_weight() -> None:
    records = [record({"t0": [0.0, 1.0], "t1": [0.5, 0.5], "t2": [0.5, 0.5], "t3": [0.5, 0.5]})]
    n = 4000
    first = Counter(step_tasks(TaskSampling.variance, POOL[:4], 7, step, 1, records)[0].id for step in range(n))
    share = (FLOOR + 4.0) / (4 * FLOOR + 4.0)  # .85
    assert first["t0"] / n == pytest.approx(share, abs=4 * (share * (1 - share) / n) ** 0.5)
    assert min(first[f"t{i}"] for i in (1, 2, 3)) > 0.03 * n  # the floor lets each of them come back


def test_a_run_draws_by_what_its_journal_says() -> None:
    records = [record({task.id: [0.0, 1.0] if task.id in ("t3", "t8") else [1.0, 1.0] for task in POOL})]
    both = [
        {"t3", "t8"} <= {t.id for t in step_tasks(TaskSampling.variance, POOL, seed, 1, 4, records)}
        for seed in range(200)
    ]
    assert sum(both) > 180
