"""Whose episodes a file holds: by its name, and by what the run or the evaluation says of itself."""

from __future__ import annotations

import json
from pathlib import Path

from esagent.report.whose import state_of


def test_files_of_a_run(tmp_path: Path) -> None:
    episodes = tmp_path / "runs" / "a" / "b" / "episodes"
    assert state_of(episodes / "eval-000000-pool.jsonl.zst") == "base"
    assert state_of(episodes / "eval-000016-heldout.jsonl.zst") == "trained, after step 16"
    assert state_of(episodes / "step-000000.jsonl.zst") == "base"
    assert state_of(episodes / "step-1000004.jsonl.zst") == "trained, after step 1000004"
    assert state_of(episodes / "other.jsonl.zst") == ""


def test_a_run_that_went_on_from_another(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "a" / "b"
    (run / "evals" / "c").mkdir(parents=True)
    (run / "manifest.json").write_text(json.dumps({"init": {"run": "default/x", "state": 12, "digest": "d"}}))
    started = "as it started, from default/x after step 12"
    assert state_of(run / "episodes" / "eval-000000-pool.jsonl.zst") == started
    assert state_of(run / "episodes" / "eval-000002-pool.jsonl.zst") == "trained, after step 2"
    assert state_of(run / "evals" / "c" / "base-greedy.jsonl.zst") == started


def test_files_of_an_evaluation(world: Path) -> None:
    (run,) = (world / "vector").iterdir()
    (evaluation,) = (run / "evals").iterdir()
    state = json.loads((evaluation / "eval.json").read_text())["state"]
    assert state_of(evaluation / "trained-greedy.jsonl.zst") == f"trained, after step {state}"
    assert state_of(evaluation / "base-sampled.jsonl.zst") == "base"
    assert state_of(run.parent.parent / "eval" / "x" / "base-greedy.jsonl.zst") == "base"
    assert state_of(run / "evals" / "gone" / "trained-greedy.jsonl.zst") == "trained"
