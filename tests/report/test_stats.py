"""What `esagent stats` shows: every number of the report, and how small p could have been."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from esagent.cli.output import print_json
from esagent.report.stats import print_report, report_json
from esagent.stats.compare import compare
from esagent.stats.results import find_results
from tests.stats.studies import write_study

FINALS = {"space.positions=answer": [0.5] * 6, "space.positions=all": [0.6, 0.65, 0.78, 0.5, 0.7, 0.44]}


@pytest.fixture
def study(tmp_path: Path):
    write_study(tmp_path, FINALS)
    return compare(find_results([str(tmp_path)]), metric="final", baseline="answer")


def test_table(study) -> None:
    stream = io.StringIO()
    print_report(study, stream)
    text = stream.getvalue()
    cells = [line.replace("│", " ").split() for line in text.splitlines() if line.startswith("│ space")]
    assert cells == [
        ["space.positions=all", "0.612", "0.126", "+0.412"],
        ["space.positions=answer", "0.500", "0.000", "+0.300"],
        ["space.positions=all", "+0.112", "[-0.060,", "+0.280]", "0.125", "0.0625", "0.969"],
    ]
    assert "6 paired seeds (exact)" in text
    assert "0.0312, one-sided 0.0156" in text


def test_json_holds_every_number(study, capsys: pytest.CaptureFixture[str]) -> None:
    print_json(report_json(study))
    found = json.loads(capsys.readouterr().out)
    (comparison,) = found["comparisons"]
    assert comparison["p_two_sided"] == 0.125
    assert comparison["smallest_p_two_sided"] == 2 / 64
    assert [entry["seed"] for entry in comparison["differences"]] == list(range(6))
    assert comparison["interval"] == pytest.approx([-0.06, 0.28])
    assert [len(arm["runs"]) for arm in found["arms"]] == [6, 6]
    assert all(Path(run["run"]).is_dir() for arm in found["arms"] for run in arm["runs"])
