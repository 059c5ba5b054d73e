"""Responses over a setting, and tasks within seeds, from run directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.errors import ConfigError
from esagent.stats.over import Response, respond
from esagent.stats.results import find_results
from esagent.stats.within import TaskReport, compare_tasks
from tests.stats.studies import write_run

PULLS = (0.0, 0.1, 0.3)


def write_grid(folder: Path, *, baseline_at: tuple[float, ...] = (0.0,)) -> None:
    """Arm `all` loses its pull; arm `answer` stays at 0.6."""
    for seed in range(5):
        for pull in PULLS:
            value = 0.7 - pull + seed / 1000
            overrides = ["space.positions=all", f"algorithm.pull={pull}", f"seed={seed}"]
            write_run(folder / f"all-{pull}-{seed}", overrides, curve={0: 0.2, 4: value})
        for pull in baseline_at:
            overrides = ["space.positions=answer", f"algorithm.pull={pull}", f"seed={seed}"]
            write_run(folder / f"answer-{pull}-{seed}", overrides, curve={0: 0.2, 4: 0.6})


def response(folder: Path, **options) -> Response:
    defaults = {"metric": "final", "baseline": "answer"}
    return respond(find_results([str(folder)]), "algorithm.pull", **(defaults | options))


@pytest.mark.parametrize("baseline_at", [(0.0,), PULLS])
def test_differences_at_every_value(tmp_path: Path, baseline_at: tuple[float, ...]) -> None:
    write_grid(tmp_path, baseline_at=baseline_at)
    found = response(tmp_path)
    assert (found.seeds, found.baseline) == ((0, 1, 2, 3, 4), "space.positions=answer")
    (curve,) = found.curves.values()
    assert [point.x for point in curve.points] == list(PULLS)
    assert [point.mean for point in curve.points] == pytest.approx([0.102, 0.002, -0.198])
    assert curve.slopes is not None
    assert (curve.slopes.fit.slope, curve.slopes.fit.r_squared) == pytest.approx((-1.0, 1.0))
    assert curve.slopes.test.n == 5


def test_one_arm_alone_is_compared_with_its_smallest_value(tmp_path: Path) -> None:
    write_grid(tmp_path, baseline_at=())
    found = response(tmp_path, baseline=None)
    assert found.baseline == "algorithm.pull=0"
    (curve,) = found.curves.values()
    assert [point.mean for point in curve.points] == pytest.approx([0.0, -0.1, -0.3])


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    write_grid(tmp_path)
    (tmp_path / "all-0.1-3" / "summary.json").unlink()
    with pytest.raises(ConfigError, match=r"arm space.positions=all, algorithm.pull=0.1, seed 3: no finished run"):
        response(tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metric": "auk"}, "did you mean auc"),
        ({"over": "algorithm.pul"}, "did you mean algorithm.pull"),
        ({"over": "space.positions"}, "a setting with numbers is needed"),
        ({"over": "space.rank"}, "all runs have the same value"),
        ({"baseline": None}, "--baseline is missing"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict, says: str) -> None:
    write_grid(tmp_path)
    results = find_results([str(tmp_path)])
    over = options.pop("over", "algorithm.pull")
    with pytest.raises(ConfigError, match=says):
        respond(results, over, **({"metric": "final", "baseline": "answer"} | options))


def test_a_baseline_at_several_other_values_is_not_guessed(tmp_path: Path) -> None:
    write_grid(tmp_path, baseline_at=(0.0, 0.2))
    with pytest.raises(ConfigError, match=r"has no runs at algorithm.pull=0.1, and at several other values"):
        response(tmp_path)


def test_two_finished_runs_are_refused(tmp_path: Path) -> None:
    write_grid(tmp_path)
    write_run(tmp_path / "again", ["space.positions=all", "algorithm.pull=0.1", "seed=0", "name=again"])
    with pytest.raises(ConfigError, match="2 finished runs"):
        response(tmp_path)


def write_tasks(folder: Path, arm: str, seed: int, rewards: list[float | None]) -> None:
    pool = {"rewards": rewards, "tasks": [f"t{i}" for i in range(len(rewards))]}
    write_run(folder / f"{arm}-{seed}", [f"space.positions={arm}", f"seed={seed}"], pool=pool)


def tasks(folder: Path, **options) -> TaskReport:
    return compare_tasks(find_results([str(folder)]), **({"metric": "final", "baseline": "answer"} | options))


def test_tasks_of_each_seed_by_themselves(tmp_path: Path) -> None:
    """Scenario 14: three seeds of a hundred tasks give three rows of n = 100, and none of 300."""
    for seed in range(3):
        write_tasks(tmp_path, "answer", seed, [0.5] * 100)
        write_tasks(tmp_path, "all", seed, [0.5 + 0.1 * seed] * 99 + [None])
    found = tasks(tmp_path)
    assert [(row.seed, row.n, row.left_out) for row in found.comparisons] == [(0, 99, 1), (1, 99, 1), (2, 99, 1)]
    assert [row.test.mean for row in found.comparisons] == pytest.approx([0.0, 0.1, 0.2])


def test_tasks_need_a_metric_that_tasks_have(tmp_path: Path) -> None:
    write_tasks(tmp_path, "answer", 0, [0.5])
    write_tasks(tmp_path, "all", 0, [0.5])
    with pytest.raises(ConfigError, match="with --level tasks choose from final, heldout"):
        tasks(tmp_path, metric="auc")
    with pytest.raises(ConfigError, match="no rewards of the heldout tasks"):
        tasks(tmp_path, metric="heldout")
