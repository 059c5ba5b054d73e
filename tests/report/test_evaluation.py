"""The table of `eval`, and what it says while it works."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from esagent.report.evaluation import interval, render_evaluation
from esagent.report.phases import Phases


def shown(result: dict[str, Any]) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, soft_wrap=True).print(render_evaluation(result))
    return stream.getvalue()


def test_the_table_says_what_the_result_says(run: Path) -> None:
    (path,) = (run / "evals").glob("*/eval.json")
    result = json.loads(path.read_text())
    out = shown(result)
    assert max(map(len, out.splitlines()[:10])) <= 80
    for metric, label in (("greedy_reward", "reward"), ("greedy_success", "success"), ("pass@2", "pass@2")):
        (line,) = [line for line in out.splitlines() if line.startswith(f"│ {label}")]
        cells = [cell.strip() for cell in line.strip("│").split("│")][1:]
        values = result["metrics"][metric]
        assert cells == [interval(values["base"]), interval(values["trained"]), interval(values["gain"], signed=True)]
    assert "2 per task, temperature 0.3" in out
    assert f"esagent show {result['eval']} --episode 0" in out


def test_a_bare_model_has_one_column() -> None:
    values = {"base": {"mean": 0.5, "interval": [None, None]}}
    out = shown({"metrics": {"greedy_reward": values}, "split": "pool", "n": 1})
    assert "0.500 [-, -]" in out
    assert "gain" not in out
    assert "esagent show" not in out


def test_intervals() -> None:
    assert interval({"mean": 0.5, "interval": [0.4, 0.6]}) == "0.500 [0.40, 0.60]"
    assert interval({"mean": 0.05, "interval": [-0.4, 0.6]}, signed=True) == "+0.050 [-0.40, +0.60]"
    assert interval(None) == "-"


def test_phases_are_plain_lines_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with Phases(stream=stream) as phases:
        phases.phase("base, greedy")
        phases.progress(3, 8)
        phases.result("mean reward 0.250")
    assert stream.getvalue() == "[     0s] base, greedy: mean reward 0.250\n"
