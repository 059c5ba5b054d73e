"""A run directory's metrics by hand, and which runs a text names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from esagent.errors import ConfigError
from esagent.stats.results import find_results, measure, read_result
from tests.stats.studies import vouch, write_run

EPISODES = 5 * 2 * 3  # directions, antithetic, tasks per step


def test_metrics_by_hand(tmp_path: Path) -> None:
    result = read_result(write_run(tmp_path / "a", curve={0: 0.2, 2: 0.6, 4: 0.4}))
    assert (result.unit, result.budget) == ("episodes", 4 * EPISODES)
    area = measure(result, "auc", result.budget)
    assert area.value == pytest.approx((2 * (0.2 + 0.6) / 2 + 2 * (0.6 + 0.4) / 2) / 4)
    assert area.gain == pytest.approx(area.value - 0.2)
    half = measure(result, "auc", result.budget / 2)
    assert half.value == pytest.approx((0.2 + 0.6) / 2)
    assert measure(result, "final", 0).value == 0.4
    heldout = measure(result, "heldout", 0)
    assert (heldout.value, heldout.base) == (0.3, 0.1)
    assert heldout.gain == pytest.approx(0.2)


def test_what_a_run_lacks_is_named(tmp_path: Path) -> None:
    short = read_result(write_run(tmp_path / "a", curve={0: 0.2, 2: 0.6}, heldout=None))
    with pytest.raises(ConfigError, match="no evaluation of the pool after step 4"):
        measure(short, "final", 1)
    with pytest.raises(ConfigError, match="no held-out result"):
        measure(short, "heldout", 1)
    with pytest.raises(ConfigError, match="no learning curve"):
        measure(read_result(write_run(tmp_path / "b")), "auc", 0)


def test_a_curve_against_tokens_by_hand(tmp_path: Path) -> None:
    """Tokens of the steps on the axis; for the 100 that were left the last value holds."""
    settings = ["budget.steps=null", "budget.tokens=1000"]
    run = write_run(tmp_path / "a", settings, curve={0: 0.2, 2: 0.6, 4: 0.4}, costs=[300, 250, 200, 150])
    result = read_result(run)
    assert (result.unit, result.budget, result.spent_share) == ("tokens", 1000, 0.9)
    area = 550 * (0.2 + 0.6) / 2 + 350 * (0.6 + 0.4) / 2 + 100 * 0.4
    assert measure(result, "auc", 1000).value == pytest.approx(area / 1000)
    assert measure(result, "auc", 550).value == pytest.approx(0.4)
    short = write_run(tmp_path / "b", settings, curve={0: 0.2, 4: 0.4}, costs=[300, 250, 200, 150])
    rows = (short / "metrics.jsonl").read_text().splitlines(keepends=True)
    (short / "metrics.jsonl").write_text("".join(row for row in rows if '"step": 2, "r' not in row))
    with pytest.raises(ConfigError, match="no row of step 2"):
        measure(read_result(vouch(short)), "auc", 1000)


def test_a_run_of_an_earlier_version_has_the_defaults_of_later_settings(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a")
    (path / "config.yaml").write_text("seed: 3\nbudget: {steps: 2}\n")
    result = read_result(vouch(path))
    assert (result.seed, result.config["budget.steps"], result.config["space.name"]) == (3, 2, "bias")


@pytest.mark.parametrize(("name", "text"), [("config.yaml", "a: [1"), ("config.yaml", "7"), ("summary.json", "{")])
def test_damage_is_one_line(tmp_path: Path, name: str, text: str) -> None:
    path = write_run(tmp_path / "a")
    (path / name).write_text(text)
    with pytest.raises(ConfigError, match="is damaged"):
        read_result(path)


@pytest.mark.parametrize(
    ("name", "before", "after", "says"),
    [
        (
            "config.yaml",
            "steps: 4",
            "steps: 5",
            "config.yaml does not hold the settings of the run: budget.steps was 4, is 5",
        ),
        ("metrics.jsonl", "0.6", "0.7", "metrics.jsonl was changed after the run ended; esagent resume"),
        ("summary.json", "0.3", "0.4", "summary.json is damaged, or does not belong to journal.jsonl; esagent resume"),
        ("manifest.json", "initial_digest", "initial_digset", "manifest.json is missing or damaged"),
    ],
)
def test_what_the_run_did_not_write_is_refused(tmp_path: Path, name: str, before: str, after: str, says: str) -> None:
    path = write_run(tmp_path / "a")
    text = (path / name).read_text()
    assert before in text
    (path / name).write_text(text.replace(before, after, 1))
    with pytest.raises(ConfigError) as caught:
        read_result(path)
    (problem,) = caught.value.problems
    assert problem.startswith(f"run {path}: {says}")


def test_evaluations_of_an_unfinished_run_are_held_to_its_seal(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a", finished=False)
    assert read_result(path).summary is None
    shutil.copy(write_run(tmp_path / "b", ["seed=1"]) / "metrics.jsonl", path)
    with pytest.raises(
        ConfigError, match=r"metrics.jsonl is damaged: the evaluation of state 0 on pool and 3 more are not"
    ):
        read_result(path)


def test_which_runs_a_text_names(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = write_run(runs / "one" / "20260101-000000-s0")
    second = write_run(runs / "one" / "20260101-000001-s0")
    third = write_run(runs / "two" / "20260101-000002-s0")

    def found(*texts: str) -> list[Path]:
        return [result.path for result in find_results(texts, runs)]

    assert found(str(first)) == [first]
    assert found("one") == found(str(runs / "one")) == [first, second]
    assert found(str(runs)) == [first, second, third]
    assert found("20260101-000002-s0") == found("two/20260101-000002-s0") == [third]
    assert found("one", str(first), "two") == [first, second, third]
    assert find_results(["one"], runs)[0].seed == 0


def test_texts_that_name_no_run(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one" / "r")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError) as caught:
        find_results(["oen", str(tmp_path / "empty"), "one"], tmp_path / "runs")
    first, second = caught.value.problems
    assert "did you mean one?" in first
    assert "holds no run" in second
    with pytest.raises(ConfigError, match="holds none"):
        find_results(["one"], tmp_path / "nowhere")
