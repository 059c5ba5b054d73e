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
