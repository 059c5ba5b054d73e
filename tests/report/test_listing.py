"""`ls`: every run a row, the damaged ones too."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from esagent.report.listing import list_rows, table
from esagent.report.run import read_run
from esagent.report.text import duration


def shown(rows: list[dict]) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140).print(table(rows))
    return stream.getvalue()


def test_a_finished_run_in_one_line(runs: Path, run: Path) -> None:
    started = read_run(run).started
    assert started is not None
    (row,) = list_rows(runs, started + timedelta(hours=3))
    summary = json.loads((run / "summary.json").read_text())
    assert row["run"] == f"vector/{run.name}"
    assert (row["state"], row["updates"], row["steps"]) == ("finished", 8, 8)
    for split in ("pool", "heldout"):
        assert row[split] == {name: summary[split][name] for name in ("base", "trained")}
    assert row["seconds"] == summary["seconds"]
    assert row["age_seconds"] == 3 * 3600
    assert row["tokens"] == summary["tokens"]["prompt"] + summary["tokens"]["completion"] > 0
    assert (row["episodes"], row["flops"]) == (summary["episodes"], summary["flops"])
    assert row["budget"] == summary["budget"]
    assert row["problems"] == []
    line = next(line for line in shown([row]).splitlines() if run.name in line)
    pool, heldout = (f"{summary[split]['base']:.2f} → {summary[split]['trained']:.2f}" for split in ("pool", "heldout"))
    time = duration(summary["seconds"])
    assert re.split("  +", line.strip()) == [
        *(f"vector/{run.name}", "finished", "8/8", pool, heldout, time, "3h"),
    ]
    assert len(line.rstrip()) <= 95


def test_an_interrupted_run_shows_how_far_it_came(runs: Path, run: Path) -> None:
    (run / "summary.json").unlink()
    (row,) = list_rows(runs)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    pool = {r["step"]: r["mean"] for r in rows if r["kind"] == "evaluation" and r["split"] == "pool"}
    assert row["state"] == "interrupted"
    assert row["pool"] == {"base": pytest.approx(pool[0]), "trained": pytest.approx(pool[8])}
    assert row["seconds"] == pytest.approx(sum(r["seconds"] for r in rows))


@pytest.mark.parametrize("file", ["config.yaml", "manifest.json", "journal.jsonl", "metrics.jsonl", "summary.json"])
@pytest.mark.parametrize("damage", ["delete", "empty", "cut", "noise", "other", "list", "folder"])
def test_no_damage_hides_a_run_or_stops_the_list(runs: Path, run: Path, file: str, damage: str) -> None:
    path = run / file
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "delete":
        made = {"empty": b"", "cut": data[: len(data) // 2], "noise": os.urandom(200), "list": b"[1]\n"}
        path.write_bytes(made.get(damage, b'{"kind": "step", "step": "x", "pool": 3, "budget": null}\n'))
    shutil.copytree(run, runs / "vector" / "copy")
    rows = list_rows(runs)
    assert len(rows) == 2
    assert shown(rows).count(run.name) >= 1
    json.dumps(rows)
    if damage != "other" and file in ("config.yaml", "manifest.json"):
        assert any(line.startswith(file) for line in rows[0]["problems"])
    if file == "config.yaml" and damage != "cut":
        assert {row["state"] for row in rows} == {"unreadable"}


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        (
            "config.yaml",
            "steps: 8",
            "steps: 9",
            "config.yaml does not hold the settings of the run: budget.steps was 8",
        ),
        ("metrics.jsonl", '"mean":0.', '"mean":0.9', "metrics.jsonl was changed after the run ended"),
        ("summary.json", '"seed": 1', '"seed": 2', "summary.json is damaged, or does not belong"),
        ("manifest.json", '"threads": 1', '"threads": 2', "manifest.json is missing or damaged"),
        ("journal.jsonl", '"step":7', '"step":8', "summary.json is damaged, or does not belong to journal.jsonl"),
    ],
)
def test_what_the_run_did_not_write_is_named(run: Path, file: str, before: str, after: str, says: str) -> None:
    assert list(read_run(run).problems) == []
    text = (run / file).read_text()
    assert before in text
    (run / file).write_text(text.replace(before, after, 1))
    (problem,) = read_run(run).problems
    assert problem.startswith(says)


def test_evaluations_of_an_unfinished_run_that_are_not_its_own_are_named(run: Path) -> None:
    (run / "summary.json").unlink()
    assert list(read_run(run).problems) == []
    text = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text(text.replace('"split":"pool"', '"split":"heldout"', 1))
    (problem,) = read_run(run).problems
    assert problem.startswith(
        "metrics.jsonl is damaged: the evaluation of state 0 on heldout is not what the run wrote"
    )


def test_what_is_no_run_is_left_out(runs: Path) -> None:
    (runs / "notes" / "of-mine").mkdir(parents=True)
    (runs / "notes" / "of-mine" / "readme.txt").write_text("x")
    (runs / ".multirun" / "x").mkdir(parents=True)
    (runs / ".multirun" / "x" / "config.yaml").write_text("x")
    (runs / "eval" / "20261130-131500-heldout").mkdir(parents=True)
    for name in ("eval.json", "manifest.json"):
        (runs / "eval" / "20261130-131500-heldout" / name).write_text("{}")
    (runs / "file").write_text("x")
    assert [row["name"] for row in list_rows(runs)] == ["vector"]
    assert list_rows(runs / "notes") == []


def test_listing_loads_nothing_heavy() -> None:
    code = (
        "import sys, esagent.report.listing, esagent.cli.show, esagent.report.overview, esagent.report.conversation;"
        "print({'matplotlib', 'torch', 'scipy', 'hydra', 'jinja2'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
