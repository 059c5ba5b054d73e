"""`esagent stats`: one line per mistake, a table for people, one object for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.stats.studies import write_study

FINALS = {"space.positions=answer": [0.5, 0.6], "space.positions=all": [0.6, 0.65]}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_study(tmp_path / "runs" / "choices", FINALS)
    return tmp_path / "runs" / "choices"


def test_table_and_json_say_the_same(study: Path, esagent: Run) -> None:
    table = esagent("stats", "choices", "--baseline", "answer", "--metric", "final")
    assert (table.returncode, table.stderr) == (0, "")
    assert "+0.075" in table.stdout
    assert "Smallest p that so many can give: 0.5, one-sided 0.25" in table.stdout
    found = json.loads(esagent("stats", str(study), "--baseline=answer", "--metric=final", "--json").stdout)
    (comparison,) = found["comparisons"]
    assert comparison["difference"] == pytest.approx(0.075)
    assert (comparison["p_two_sided"], comparison["p_greater"]) == (0.5, 0.25)
    assert comparison["interval"] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chioces", "--baseline", "answer"], "did you mean choices?"),
        (["choices"], "--baseline is missing: choose from"),
        (["choices", "--baseline", "anser"], "did you mean space.positions=answer?"),
        (["choices", "--baseline", "answer", "--metric", "auk"], "did you mean auc?"),
        (["choices", "--baseline", "answer", "--by", "space.rnk"], "did you mean space.rank?"),
        (["choices/space.positions-all-s0", "--baseline", "all"], "of one arm"),
    ],
)
def test_bad_usage(arguments: list[str], says: str, study: Path, esagent: Run) -> None:
    done = esagent("stats", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_pair_is_refused_and_named(study: Path, esagent: Run) -> None:
    (study / "space.positions-all-s1" / "summary.json").unlink()
    done = esagent("stats", "choices", "--baseline", "answer")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "esagent: arm space.positions=all, seed 1: runs/choices/space.positions-all-s1 is not"
    )


def test_margin_and_seeds(study: Path, esagent: Run) -> None:
    done = esagent("stats", "choices", "--baseline", "answer", "--metric", "final", "--margin", "0.2", "--per-seed")
    assert (done.returncode, done.stderr) == (0, "")
    assert "final of every run, by training seed" in done.stdout
    assert "no better by 0.2" in done.stdout
    found = json.loads(
        esagent("stats", "choices", "--baseline=answer", "--metric=final", "--margin=0.2", "--json").stdout
    )
    (comparison,) = found["comparisons"]
    assert (found["level"], found["margin"]) == ("training seeds", 0.2)
    assert comparison["equivalence"]["exact"]["p"] == 0.25


def test_power_needs_no_runs(esagent: Run) -> None:
    done = esagent("stats", "--power", "--n", "6,8", "--family", "2", "--effect", "1", "--json")
    found = json.loads(done.stdout)
    assert found["seeds_needed"] == {"two_sided": 7, "one_sided": 6}
    assert [row["smallest_p_two_sided"] for row in found["rows"]] == [2 / 64, 2 / 256]
    assert found["rows"][0]["power"]["different"]["exact"] == 0.0
    table = esagent("stats", "--power").stdout
    assert "At least 6 seeds for a two-sided difference, 5 for a one-sided claim." in table


def test_a_study_is_judged(study: Path, tmp_path: Path, esagent: Run) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "name: demo\nseeds: 0-1\nmetric: final\nbaseline: answer\nhypotheses: {h: {claim: better, arms: all}}\n"
        "arms: {answer: {space.positions: answer}, all: {space.positions: all}}\n"
    )
    done = esagent("stats", "choices", "--study", "study.yaml", "--html", "page.html")
    assert (done.returncode, done.stderr) == (0, "esagent: page written to page.html\n")
    assert "NOT AS PREREGISTERED: 4 of 4 runs were started under no study" in done.stdout
    assert "undecided" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    found = json.loads(esagent("stats", "choices", "--study", "study.yaml", "--json").stdout)
    assert (found["preregistered"], found["hypotheses"][0]["p"]) == (False, 0.25)
    plan = json.loads(esagent("stats", "--power", "--study", "study.yaml", "--json").stdout)
    assert [row["n"] for row in plan["rows"]] == [2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "RUNS is missing"),
        (["choices", "--n", "8"], "comparing runs does not take --n; add --power"),
        (["choices", "--power"], "--power does not take RUNS"),
        (["--power", "--n", "8,x"], "'x' is no number of seeds"),
        (["--power", "--alpha", "2"], "alpha=2.0: must lie between 0 and 1"),
        (["choices", "--study", "nothing.yaml"], "study=nothing.yaml: cannot be read"),
        (["choices", "--study", "x.yaml", "--metric", "auc"], "--study does not take --metric; the study says it"),
        (["choices", "--level", "task"], "did you mean tasks?"),
        (["choices", "--level", "tasks", "--baseline", "answer"], "choose from final, heldout"),
        (["choices", "--level", "tasks", "--over", "seed"], "it is about training seeds"),
        (["choices", "--baseline", "answer", "--over", "space.rnk"], "did you mean space.rank?"),
        (["choices", "--baseline", "answer", "--margin", "0"], "margin=0.0: must be above 0"),
        (["choices", "--baseline", "answer", "--html", "."], "is a folder; name the file"),
    ],
)
def test_bad_options(arguments: list[str], says: str, study: Path, esagent: Run) -> None:
    done = esagent("stats", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
