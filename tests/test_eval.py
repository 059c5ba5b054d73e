"""`eval` over the small world: base beside trained, paired, in a folder of its own, and the run left as it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esagent.assemble import Facts
from esagent.config.schema import Config
from esagent.errors import ConfigError, RunError
from esagent.eval import Options, evaluate_model, evaluate_run
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import read_episodes
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.vector import EchoAgent, VectorBackend, vector_config, vector_parts


def build(config: Config) -> Any:
    parts = vector_parts(config)
    return parts.agent, parts.backend, parts.facts


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, RunDirectory, dict[str, Any]]:
    config = vector_config(tmp_path_factory.mktemp("runs"))
    summary = train(config, build=vector_parts)
    return config, RunDirectory(Path(summary["run"])), summary


def run_eval(trained: Any, options: Options, **changes: Any) -> dict[str, Any]:
    config, run, _ = trained
    return evaluate_run(run, config, replace(config, **changes), options, plain=True, build=build)


def contents(run: RunDirectory) -> dict[str, str]:
    files = [path for path in run.path.rglob("*") if path.is_file() and "evals" not in path.parts]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_it_finds_what_the_run_itself_reported_and_leaves_the_run_alone(trained) -> None:
    _, run, summary = trained
    before = contents(run)
    result = run_eval(trained, Options("heldout", k=2))
    reward = result["metrics"]["greedy_reward"]
    assert reward["base"]["mean"] == pytest.approx(summary["heldout"]["base"])
    assert reward["trained"]["mean"] == pytest.approx(summary["heldout"]["trained"])
    assert reward["gain"]["mean"] == pytest.approx(summary["heldout"]["gain"])
    assert reward["gain"]["interval"] == pytest.approx(summary["heldout"]["gain_interval"])
    assert result["digests"]["trained"] == summary["digest"] != result["digests"]["base"]
    assert result["signals"]["finder"] == pytest.approx(summary["heldout"]["signals"]["finder"])
    assert contents(run) == before
    assert resume(run.path, build=vector_parts) == json.loads(run.summary.read_text())


def test_everything_is_in_its_folder(trained) -> None:
    result = run_eval(trained, Options("heldout", k=3, n=5))
    folder = Path(result["eval"])
    assert folder.parent == trained[1].path / "evals"
    assert json.loads((folder / "eval.json").read_text()) == json.loads(json.dumps(result))
    assert json.loads((folder / "manifest.json").read_text())["config"]["task"]["heldout"] == 48
    for agent in ("base", "trained"):
        greedy = list(read_episodes(folder / f"{agent}-greedy.jsonl.zst"))
        sampled = list(read_episodes(folder / f"{agent}-sampled.jsonl.zst"))
        assert [e["task"]["id"] for e in greedy] == result["tasks"] == [f"heldout-{i}" for i in range(5)]
        assert [e["score"]["reward"] for e in greedy] == result["rewards"][agent]["greedy"]
        drawn = [e["score"]["reward"] for e in sampled]
        assert np.reshape(drawn, (5, 3)).tolist() == result["rewards"][agent]["sampled"]
        assert [e["sample"] for e in sampled] == [0, 1, 2] * 5


def test_any_state_can_be_had(trained) -> None:
    _, run, summary = trained
    means = {
        row["step"]: row["mean"]
        for row in read_rows(run.metrics)
        if row["kind"] == "evaluation" and row["split"] == "pool"
    }
    for state in ("4", "last", "best"):
        step = {"last": summary["steps"], "best": summary["selected_step"]}.get(state, 4)
        result = run_eval(trained, Options("pool", state, k=0))
        assert result["state"] == step
        assert result["metrics"]["greedy_reward"]["trained"]["mean"] == pytest.approx(means[step])
    base = run_eval(trained, Options("pool", "0", k=0))
    assert list(base["metrics"]["greedy_reward"]) == ["base"]


def test_an_unfinished_run_gives_its_last_state(trained, tmp_path: Path) -> None:
    config = replace(trained[0], runs_dir=str(tmp_path))
    summary = train(config, build=vector_parts)
    run = RunDirectory(Path(summary["run"]))
    run.summary.unlink()
    result = evaluate_run(run, config, config, Options("pool", k=0), plain=True, build=build)
    assert result["state"] == result["updates"] == summary["steps"]
    with pytest.raises(ConfigError, match="has not finished"):
        evaluate_run(run, config, config, Options("pool", "best", k=0), plain=True, build=build)


def test_more_tasks_than_the_run_had_and_other_seeds_of_them(trained) -> None:
    result = run_eval(trained, Options("heldout", n=60, k=0))
    assert result["n"] == 60
    other = run_eval(trained, Options("heldout", k=0), seed=99)
    assert other["n"] == 48
    assert other["rewards"]["base"] != run_eval(trained, Options("heldout", k=0))["rewards"]["base"]
    with pytest.raises(ConfigError, match="trained on 32 tasks"):
        run_eval(trained, Options("pool", n=33))


def test_tasks_that_were_trained_on_are_refused(trained) -> None:
    config, run, _ = trained
    known = len(list((run.path / "evals").iterdir()))
    overlapping = replace(config.task, options={"overlap": True})
    with pytest.raises(RunError, match="task 'validation-0' of validation was trained on \\(as 'train-0'\\)"):
        run_eval(trained, Options("validation"), task=overlapping)
    assert len(list((run.path / "evals").iterdir())) == known


def test_another_base_model_is_refused(trained) -> None:
    config, run, _ = trained

    def other(config: Config) -> Any:
        return EchoAgent(), VectorBackend(), Facts("other weights", "float32", "cpu", 1)

    with pytest.raises(RunError, match="trained on a base model with hash formula; this one has other weights"):
        evaluate_run(run, config, config, Options(), plain=True, build=other)


@pytest.mark.parametrize(("breaks", "failures"), [(0, 0), (20, 10**9), (4, 8)])
def test_what_the_harness_could_not_score_is_dropped_for_both_agents(trained, breaks: int, failures: int) -> None:
    # A quarter of the first attempt fails, which is tried once more; a twentieth that always fails is dropped.
    task = replace(trained[0].task, options={"breaks": breaks, "failures": failures})
    result = run_eval(trained, Options("pool", k=0), task=task)
    dropped = {20: ["train-0", "train-20"]}.get(breaks, [])
    assert result["unscored"] == dropped
    assert result["n"] == 32 - len(dropped)
    assert not set(dropped) & set(result["tasks"])


def test_a_bare_model_has_no_gain_and_its_own_place(trained, tmp_path: Path) -> None:
    config = replace(trained[0], runs_dir=str(tmp_path / "runs"))
    result = evaluate_model(config, Options("heldout", n=6, k=2), plain=True, build=build)
    assert Path(result["eval"]).parent == tmp_path / "runs" / "eval"
    assert all(list(value) == ["base"] for value in result["metrics"].values())
    assert list(result["metrics"]) == ["greedy_reward", "greedy_success", "sampled_reward", "pass@1", "pass@2"]
    assert "run" not in result


def test_an_evaluation_that_breaks_leaves_nothing(trained, tmp_path: Path) -> None:
    config = replace(trained[0], runs_dir=str(tmp_path / "runs"))
    task = replace(config.task, options={"breaks": 1})
    with pytest.raises(RunError, match="could not be scored"):
        evaluate_model(replace(config, task=task), Options("pool", n=6, k=0), plain=True, build=build)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_split_says_so(trained) -> None:
    with pytest.raises(ConfigError, match=r"task\.heldout=0"):
        run_eval(trained, Options(), task=replace(trained[0].task, heldout=0))
