"""A whole study by hand; and every way in which one is incomplete is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from esagent.errors import ConfigError
from esagent.stats.compare import Report, compare
from esagent.stats.results import find_results
from tests.stats.studies import vouch, write_run, write_study

ANSWER, ALL = "space.positions=answer", "space.positions=all"
FINALS = {ANSWER: [0.50, 0.60, 0.70], ALL: [0.60, 0.65, 0.78]}


def report(folder: Path, **options) -> Report:
    return compare(find_results([str(folder)]), **({"metric": "final", "baseline": ANSWER} | options))


def test_three_pairs_by_hand(tmp_path: Path) -> None:
    write_study(tmp_path, FINALS)
    found = report(tmp_path)
    assert (found.baseline, found.seeds, found.budget, found.notes) == (ANSWER, (0, 1, 2), None, ())
    arms = {arm.label: arm for arm in found.arms}
    assert arms[ANSWER].mean == pytest.approx(0.6)
    assert arms[ANSWER].deviation == pytest.approx(0.1)
    assert arms[ALL].gain == pytest.approx((0.60 + 0.65 + 0.78) / 3 - 0.2)
    (comparison,) = found.comparisons
    assert list(comparison.differences) == [0, 1, 2]
    assert list(comparison.differences.values()) == pytest.approx([0.10, 0.05, 0.08])
    assert (comparison.test.p_two_sided, comparison.test.p_greater, comparison.test.p_less) == (0.25, 0.125, 1.0)
    assert comparison.interval == (-float("inf"), float("inf"))
    low, high = report(tmp_path, confidence=0.7).comparisons[0].interval
    assert (low, high) == pytest.approx((0.05, 0.10))


def test_the_area_is_taken_over_the_budget_that_all_runs_have(tmp_path: Path) -> None:
    """Straight lines from 0.2: the short arm is half as long, and the long one is cut there."""
    for seed, value in enumerate((0.6, 0.8)):
        write_run(tmp_path / f"l{seed}", [f"seed={seed}"], curve={0: 0.2, 4: value})
        write_run(tmp_path / f"s{seed}", [f"seed={seed}", "budget.steps=2"], curve={0: 0.2, 2: value})
    found = report(tmp_path, metric="auc", baseline="budget.steps=4")
    assert found.budget == (2 * 5 * 2 * 3, "episodes")
    means = {arm.label: arm.mean for arm in found.arms}
    assert means["budget.steps=2"] == pytest.approx((0.4 + 0.5) / 2)
    assert means["budget.steps=4"] == pytest.approx((0.3 + 0.35) / 2)
    assert "not paired: unequal budgets between arms: 60 episodes, 120 episodes of training" in found.notes


def test_budgets_of_different_kinds_have_no_common_area(tmp_path: Path) -> None:
    write_run(tmp_path / "a", ["seed=0"])
    write_run(tmp_path / "b", ["seed=0", "budget.steps=null", "budget.tokens=900"], costs=[300, 250, 200, 150])
    with pytest.raises(ConfigError, match="unequal budgets between arms: 120 episodes, 900 tokens"):
        report(tmp_path, metric="auc", baseline="budget.steps=4")
    assert "unequal budgets" in report(tmp_path, metric="final", baseline="budget.steps=4").notes[0]


def test_what_arms_left_of_their_budget_is_told(tmp_path: Path) -> None:
    tokens = ["budget.steps=null", "budget.tokens=1000"]
    write_run(tmp_path / "a", [*tokens, ANSWER], costs=[300, 250, 200, 150])
    write_run(tmp_path / "b", [*tokens, ALL], costs=[250, 250, 250, 250])
    found = report(tmp_path, metric="auc")
    assert found.budget == (1000, "tokens")
    assert found.notes == (f"spent of the budget: {ANSWER} 90.0%, {ALL} 100.0%",)
    areas = {arm.label: arm.mean for arm in found.arms}
    assert areas[ANSWER] == pytest.approx((900 * (0.2 + 0.6) / 2 + 100 * 0.6) / 1000)
    assert areas[ALL] == pytest.approx(0.4)


def test_missing_and_unfinished_runs_are_named(tmp_path: Path) -> None:
    write_study(tmp_path, FINALS)
    shutil.rmtree(tmp_path / "space.positions-all-s1")
    (tmp_path / "space.positions-answer-s2" / "summary.json").unlink()
    with pytest.raises(ConfigError) as caught:
        report(tmp_path)
    assert caught.value.exit_code == 2
    first, second = sorted(caught.value.problems)
    assert first == f"arm {ALL}, seed 1: no run; the other arms have one"
    assert second.startswith(f"arm {ANSWER}, seed 2: {tmp_path / 'space.positions-answer-s2'} is not finished")
    assert "esagent resume" in second


def test_two_finished_runs_of_one_pair_are_refused_and_an_unfinished_one_is_passed_over(tmp_path: Path) -> None:
    write_study(tmp_path, FINALS)
    write_run(tmp_path / "again", [ALL, "seed=1", "name=again"], finished=False)
    (note,) = report(tmp_path).notes
    assert "again is passed over" in note
    shutil.rmtree(tmp_path / "again")
    write_run(tmp_path / "again", [ALL, "seed=1", "name=again"])
    with pytest.raises(ConfigError, match=rf"arm {ALL}, seed 1: 2 finished runs .*again.*--by name"):
        report(tmp_path)


def test_a_fork_is_told(tmp_path: Path) -> None:
    write_study(tmp_path, FINALS)
    vouch(tmp_path / "space.positions-all-s1", forked_from={"run": "a/b"})
    (note,) = report(tmp_path).notes
    assert note.startswith(f"{tmp_path / 'space.positions-all-s1'} is a fork")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"baseline": None}, rf"--baseline is missing: choose from '{ALL}', '{ANSWER}'"),
        ({"baseline": "space.position=all"}, f"did you mean {ALL}"),
        ({"baseline": "positions"}, "could be"),
        ({"metric": "finl"}, "did you mean final"),
        ({"confidence": 2.0}, "between 0 and 1"),
        ({"by": ["name"]}, "of one arm"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict, says: str) -> None:
    write_study(tmp_path, FINALS)
    with pytest.raises(ConfigError, match=says):
        report(tmp_path, **options)


def test_a_part_of_the_label_names_the_baseline(tmp_path: Path) -> None:
    write_study(tmp_path, FINALS)
    assert report(tmp_path, baseline="all").baseline == ALL
    assert report(tmp_path, baseline="all").comparisons[0].test.mean == pytest.approx(-0.23 / 3)


def test_a_whole_value_goes_before_a_part_of_one(tmp_path: Path) -> None:
    for name, value in (("es", 0.5), ("es_at_scale", 0.7), ("agentic_es", 0.6)):
        write_run(tmp_path / name, [f"name={name}"], curve={0: 0.2, 4: value})
    for given in ("es", "name=es"):
        assert report(tmp_path, baseline=given, by=["name"]).baseline == "name=es"
    assert report(tmp_path, baseline="at_scale", by=["name"]).baseline == "name=es_at_scale"
    with pytest.raises(ConfigError, match=r"could be 'name=agentic_es', 'name=es', 'name=es_at_scale'"):
        report(tmp_path, baseline="e", by=["name"])


def test_a_value_that_several_arms_have_is_of_no_other_arm(tmp_path: Path) -> None:
    for name in ("es", "es2"):
        for steps in (4, 5):
            write_run(
                tmp_path / f"{name}-{steps}", [f"name={name}", f"budget.steps={steps}"], curve={0: 0.2, steps: 0.5}
            )
    with pytest.raises(ConfigError, match=r"could be 'name=es budget.steps=4', 'name=es budget.steps=5'$"):
        report(tmp_path, baseline="es", by=["name", "budget.steps"])


def test_arms_by_name(tmp_path: Path) -> None:
    for name, value in (("a", 0.5), ("b", 0.7)):
        write_run(tmp_path / name, [f"name={name}"], curve={0: 0.2, 4: value})
    found = report(tmp_path, baseline="name=a", by=["name"])
    assert found.comparisons[0].differences == {0: pytest.approx(0.2)}
    assert found.comparisons[0].test.p_two_sided == 1.0


def test_objectives_are_not_mixed_unless_it_is_said(tmp_path: Path) -> None:
    write_study(tmp_path, {"objective=reward": [0.5, 0.6], "objective=likelihood": [0.7, 0.8]})
    results = find_results([str(tmp_path)])
    with pytest.raises(ConfigError, match=r"different objectives \(likelihood, reward; .*supervised.* --by objective"):
        compare(results, metric="auc", baseline="reward")
    report = compare(results, metric="auc", baseline="reward", by=["objective"])
    assert [arm.label for arm in report.arms] == ["objective=likelihood", "objective=reward"]
    assert any("arm objective=likelihood is supervised" in note for note in report.notes)


def test_two_arms_of_one_objective_are_compared_and_labelled(tmp_path: Path) -> None:
    """Runs of either kind among themselves need nothing said; supervised arms are called so."""
    for arm in ("algorithm.shaping=none", "algorithm.shaping=ranks"):
        for seed in (0, 1):
            write_run(tmp_path / f"{arm}-{seed}", [arm, f"seed={seed}", "objective=likelihood"])
    report = compare(find_results([str(tmp_path)]), metric="final", baseline="none")
    assert sum("is supervised" in note for note in report.notes) == 2
