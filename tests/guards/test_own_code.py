"""What only the project's own code could break, where no other test looks at it; and that the page names real tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from esagent.core.noise import direction_seed
from esagent.guards.start import GUARDS
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.guards.test_mode import stopped
from tests.helpers.vector import vector_config, vector_parts

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guards.md").read_text()


@pytest.mark.parametrize(
    ("steps", "every", "due"),
    [(5, 2, [0, 2, 4, 5]), (2, 5, [0, 2]), (2, 0, [0, 2]), (2, 1, [0, 1, 2]), (0, 4, [0])],
)
def test_evaluations_are_made_when_they_are_due(tmp_path: Path, steps: int, every: int, due: list[int]) -> None:
    summary = train(vector_config(tmp_path, steps=steps, evaluate_every=every), build=vector_parts)
    rows = [r for r in read_rows(Path(summary["run"]) / "metrics.jsonl") if r["kind"] == "evaluation"]
    assert [row["step"] for row in rows if row["split"] == "pool"] == due
    assert {row["step"] for row in rows if row["split"] == "heldout"} <= {0, *due}


def test_a_resumed_run_draws_no_noise_twice(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=4)
    run = stopped(config)
    resume(run.path, build=vector_parts)
    records = read_journal(run.journal)
    assert [record["step"] for record in records] == [0, 1, 2, 3]
    drawn = [member[0] for record in records for member in record["population"]["members"]]
    twins = [seed for seed in drawn[::2] for _ in range(2)]
    assert drawn == twins
    assert len(set(drawn)) == len(drawn) / 2
    assert drawn[::2] == [direction_seed(config.seed, step, i) for step in range(4) for i in range(6)]


def test_the_page_names_every_guard_and_tests_that_there_are() -> None:
    table = set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.M)) - {"strict", "warn", "off"}
    assert table == {*GUARDS, "spread"}
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) >= 10
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(), f"{path} has no {name}"
