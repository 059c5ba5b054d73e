"""The cost of a study is that of its jobs, one by one."""

from __future__ import annotations

import pytest

from esagent.config.compose import compose
from esagent.plan import plan
from esagent.plan.study import study_cost
from esagent.sweep.costs import TOTAL, costs, table, to_json
from esagent.sweep.jobs import make_jobs

SETTINGS = [["space=bias", "seed=0"], ["space=bias", "seed=1"], ["space=core", "seed=0"], ["space=core", "seed=1"]]


def test_sums_and_the_largest_memory() -> None:
    small, large = plan(compose(["budget.steps=2"])), plan(compose(["space=full", "sigma=auto"]))
    cost = study_cost([0, 1, 0], [small, large])
    assert (cost.seeds, cost.done, cost.left) == ((0, 1), 1, 2)
    assert large.calibration is not None
    assert cost.episodes == (
        small.training_episodes + small.evaluation_episodes  # type: ignore[operator]
        + large.training_episodes + large.evaluation_episodes + large.calibration.episodes  # type: ignore[operator]
    )  # fmt: skip
    assert cost.tokens == small.tokens + large.tokens  # type: ignore[operator]
    assert cost.seconds == pytest.approx(small.seconds + large.seconds)  # type: ignore[operator]
    both = [sum(v or 0 for v in one.memory_bytes.values()) for one in (small, large)]
    assert cost.memory_bytes == max(both)
    assert cost.disk_bytes == sum(
        one.disk_bytes[part] or 0 for one in (small, large) for part in ("snapshots", "episodes")
    )


def test_what_is_unknown_of_one_job_is_unknown_of_all() -> None:
    cost = study_cost([0, 1], [plan(compose([])), plan(compose(["model=Nobody/nothing-1b"]))])
    assert (cost.flops, cost.seconds, cost.memory_bytes, cost.disk_bytes) == (None,) * 4
    assert cost.tokens is not None
    nothing = study_cost([0], [])
    assert (nothing.tokens, nothing.memory_bytes, nothing.seconds) == (0, 0, 0)


def test_a_finished_job_costs_nothing_any_more() -> None:
    jobs = make_jobs(SETTINGS, [compose(overrides) for overrides in SETTINGS])
    plans = [plan(job.config) for job in jobs]
    found = costs(jobs, plans, {jobs[0].key})
    bias, core = found["space.name=bias"], found["space.name=core"]
    assert (bias.done, bias.left, bias.tokens) == (1, 1, plans[1].tokens)
    assert (core.done, core.left) == (0, 2)
    assert found[TOTAL].tokens == sum(cost.tokens or 0 for cost in plans[1:])
    assert to_json(found)["total"]["left"] == 3
    assert [arm["arm"] for arm in to_json(found)["arms"]] == ["space.name=bias", "space.name=core"]
    assert table(found).row_count == 3
    assert table({"all": bias, TOTAL: bias}).row_count == 1
