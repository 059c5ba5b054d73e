"""A preregistered study over run directories: what belongs to it, what counts, and whether it was registered so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from esagent.config.study import Study, load_study
from esagent.errors import ConfigError
from esagent.stats.preregistered import Assessment, assess
from esagent.stats.results import find_results
from tests.stats.studies import vouch, write_run

SEEDS = 6
ARMS = {"answer": 0.5, "all": 0.6}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return register(tmp_path)


def register(folder: Path, **changes: Any) -> Study:
    data = {
        "name": "positions",
        "metric": "final",
        "seeds": f"0-{SEEDS - 1}",
        "baseline": "answer",
        "arms": {arm: {"space.positions": arm} for arm in ARMS},
        "hypotheses": {"all_better": {"claim": "better", "arms": "all"}},
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(data | changes, sort_keys=False))
    return load_study(path)


def write_runs(folder: Path, study: Study | None) -> None:
    for arm, value in ARMS.items():
        for seed in range(SEEDS):
            stamp = {"study": study.stamp} if study else {}
            curve = {0: 0.2, 4: value + seed / 100}
            write_run(
                folder / "runs" / f"{arm}-{seed}", [f"space.positions={arm}", f"seed={seed}"], curve=curve, **stamp
            )


def found(study: Study, folder: Path) -> Assessment:
    return assess(study, find_results([str(folder / "runs")]))


def test_every_run_under_the_study(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    report = found(study, tmp_path)
    assert (report.doubts, report.notes, report.counts) == ((), (), {"answer": 6, "all": 6})
    (verdict,) = report.verdicts
    assert (verdict.verdict, verdict.n, verdict.p) == ("holds", 6, 1 / 64)
    assert report.values["final"]["all"][3] == pytest.approx(0.63)


def test_a_file_that_was_changed_afterwards_is_told(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    changed = register(tmp_path, alpha=0.1)
    (doubt,) = found(changed, tmp_path).doubts
    assert "is not the file that 12 of 12 runs were started under: it was changed afterwards" in doubt


def test_runs_without_a_stamp_are_told(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, None)
    (doubt,) = found(study, tmp_path).doubts
    assert doubt.startswith("12 of 12 runs were started under no study")


def test_a_missing_run_leaves_it_undecided(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    (tmp_path / "runs" / "all-2" / "summary.json").unlink()
    report = found(study, tmp_path)
    assert report.verdicts[0].verdict == "undecided"
    assert report.verdicts[0].missing == (("all", 2),)
    assert any(note.endswith("all-2 is not finished") for note in report.notes)


@pytest.mark.parametrize(
    ("rule", "damage", "why"),
    [
        ("unfinished", lambda run: (run / "summary.json").unlink(), "is not finished"),
        ("fork", lambda run: vouch(run, forked_from={"run": "a/b"}), "is a fork"),
    ],
)
def test_rules_take_runs_out_and_say_so(tmp_path: Path, rule: str, damage, why: str) -> None:
    study = register(tmp_path, exclude=[rule])
    write_runs(tmp_path, study)
    damage(tmp_path / "runs" / "all-2")
    (verdict,) = found(study, tmp_path).verdicts
    assert (verdict.n, verdict.excluded, verdict.missing) == (5, (f"all, seed 2: {why}",), ())
    assert verdict.p == 1 / 32


def test_rules_about_the_base_and_unscored_tasks(tmp_path: Path) -> None:
    study = register(tmp_path, exclude=[{"base_below": 0.15}, {"base_above": 0.25}, {"unscored_above": 0.1}])
    write_runs(tmp_path, study)
    for seed, (base, unscored) in enumerate([(0.1, 0), (0.3, 0), (0.2, 2)]):
        overrides = ["space.positions=all", f"seed={seed}"]
        folder = tmp_path / "runs" / f"all-{seed}"
        folder.rename(tmp_path / f"gone-{seed}")
        steps = [{"unscored_tasks": unscored}] * 4
        write_run(folder, overrides, curve={0: base, 4: 0.6}, steps=steps, study=study.stamp)
    (verdict,) = found(study, tmp_path).verdicts
    assert verdict.n == 3
    assert verdict.excluded == (
        "all, seed 0: base reward 0.100 < 0.15",
        "all, seed 1: base reward 0.300 > 0.25",
        "all, seed 2: 66.7% of its tasks were not scored",
    )


def test_others_are_passed_over_and_doubles_refused(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    write_run(tmp_path / "runs" / "other", ["space.positions=all", "seed=9"])
    assert "1 runs are passed over: of no arm of the study, or of other seeds" in found(study, tmp_path).notes
    write_run(tmp_path / "runs" / "again", ["space.positions=all", "seed=1"])
    with pytest.raises(ConfigError, match=r"arm all, seed 1: 2 finished runs"):
        found(study, tmp_path)


def test_every_run_written_down_twice_is_refused(study: Study, tmp_path: Path) -> None:
    """Scenario 13, for training seeds."""
    write_runs(tmp_path, study)
    write_runs(tmp_path / "runs" / "copy", study)
    with pytest.raises(ConfigError) as caught:
        assess(study, find_results([str(tmp_path / "runs"), str(tmp_path / "runs" / "copy" / "runs")]))
    assert len(caught.value.problems) == 12


def test_an_unfinished_run_beside_a_finished_one_does_not_count(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    write_run(tmp_path / "runs" / "a-again", ["space.positions=all", "seed=1"], finished=False)
    assert found(study, tmp_path).verdicts[0].verdict == "holds"


def test_runs_of_one_arm_that_differ_are_no_repetitions(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    (tmp_path / "runs" / "all-1").rename(tmp_path / "gone")
    overrides = ["space.positions=all", "seed=1", "budget.evaluate_every=2"]
    write_run(tmp_path / "runs" / "all-1", overrides, study=study.stamp)
    with pytest.raises(ConfigError, match=r"arm all: its runs differ in budget.evaluate_every"):
        found(study, tmp_path)


def test_what_cannot_be_compared_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of the runs is a finished one of its arms \(answer, all\)"):
        assess(study, [])
    wide = register(tmp_path, arms={"answer": {"space.positions": "answer"}, "all": {"space.name": "bias"}})
    write_runs(tmp_path, study)
    with pytest.raises(ConfigError, match="belongs to several arms of the study: answer, all"):
        found(wide, tmp_path)


def test_objectives_are_not_mixed_unless_arms_say_so(tmp_path: Path) -> None:
    study = register(tmp_path, seeds=[0])
    for arm, objective in (("answer", "reward"), ("all", "likelihood")):
        write_run(tmp_path / "runs" / arm, [f"space.positions={arm}", f"objective={objective}"])
    with pytest.raises(ConfigError, match="different objectives"):
        found(study, tmp_path)
    arms = {"answer": {"objective": "reward"}, "all": {"objective": "likelihood"}}
    assert found(register(tmp_path, seeds=[0], arms=arms), tmp_path).counts == {"answer": 1, "all": 1}


def test_a_damaged_manifest_vouches_for_no_stamp(study: Study, tmp_path: Path) -> None:
    write_runs(tmp_path, study)
    path = tmp_path / "runs" / "all-1" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"study": {"sha256": "0" * 64}}))
    with pytest.raises(ConfigError, match=r"manifest\.json is missing or damaged"):
        found(study, tmp_path)
