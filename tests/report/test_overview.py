"""`show`: what ran and how it went, in agreement with the run's own files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from esagent.report.overview import overview, render
from esagent.report.run import read_run
from esagent.report.text import age, size
from esagent.runs.journal import read_journal


def text(found: dict) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140).print(render(found))
    return stream.getvalue()


def test_it_says_what_the_files_say(run: Path) -> None:
    found = overview(read_run(run), {"seed": {"value": 1, "default": 0}})
    summary = json.loads((run / "summary.json").read_text())
    records = read_journal(run / "journal.jsonl")
    assert found["results"]["pool"]["gain_interval"] == summary["pool"]["gain_interval"]
    assert found["selected_step"] == summary["selected_step"]
    for module in ("finder", "writer"):
        spent = found["modules"][module]
        assert spent["directions"] == sum(record["allocation"][module] for record in records)
        assert spent["blamed"] == sum(record["blamed"][module] for record in records)
        assert spent["credit"] == pytest.approx(records[-1]["credit"][module])
        assert spent["moved"] == pytest.approx(sum(record["moved"][module] for record in records))
    (evaluation,) = found["evals"]
    assert evaluation["k"] == 2
    assert found["files"]["episodes/"]["files"] == len(list((run / "episodes").iterdir()))
    assert found["files"]["config.yaml"]["bytes"] == (run / "config.yaml").stat().st_size
    json.dumps(found)


def test_the_terminal_shows_it(run: Path) -> None:
    found = overview(read_run(run), {"sigma.start": {"value": 0.4, "default": 1.0}})
    out = text(found)
    for part in (run.name, "finished, 8 of 8 updates", "sigma.start", "0.4", "held-out", "finder", "pass@2", "--html"):
        assert part in out
    assert "esagent resume" not in out
    assert "Settings: the defaults" in text(overview(read_run(run), {}))


def test_an_unfinished_run_is_compared_as_far_as_it_came(run: Path) -> None:
    whole = overview(read_run(run), None)
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").unlink()
    found = overview(read_run(run), None)
    assert found["results"]["pool"]["state"] == 8
    if summary["selected_step"] == 8:
        assert found["results"]["pool"]["gain_interval"] == whole["results"]["pool"]["gain_interval"]
    rows = [line for line in (run / "metrics.jsonl").read_text().splitlines() if json.loads(line)["step"] == 0]
    (run / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    found = overview(read_run(run), None)
    assert set(found["results"]["heldout"]) == {"n", "base", "signals"}
    assert "esagent resume" in text(found)


def test_a_folder_with_next_to_nothing_is_shown_too(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("- 1\n")
    found = overview(read_run(tmp_path), None)
    assert found["state"] == "unreadable"
    assert "config.yaml is not a configuration of esagent" in found["problems"]
    assert "unreadable" in text(found)


def test_modules_stand_in_the_order_an_episode_reaches_them(run: Path) -> None:
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("target: tests.helpers.vector:EchoAgent", "target: null"))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    names = {"finder": "selector", "writer": "planner"}
    for row in rows:
        for field in ("directions", "moved", "credit", "sigma", "blamed"):
            if field in row:
                row[field] = {names[module]: value for module, value in row[field].items()}
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(overview(read_run(run), None)["modules"]) == ["planner", "selector"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "now"), (59.9, "now"), (60, "1m"), (7199, "1h"), (86400 * 3.5, "3d"), (None, "-")]
)
def test_ages(seconds: float | None, said: str) -> None:
    assert age(seconds) == said


def test_sizes() -> None:
    assert [size(n) for n in (0, 999, 1000, 1_234_567, 5 * 10**9, 7 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "1.2 MB", "5.0 GB", "7000.0 GB",
    ]  # fmt: skip
