"""`esagent train`: exit codes, what goes to which stream, plans and multiruns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

BAD = [
    (("train", "budget=quik"), 1),
    (("train", "modle=x", "+y=1", "budget.steps=-1", "task=jsonl"), 4),
    (("train", "budget.steps=many", "--json"), 1),
    (("train", "space.layers=99", "--dry-run"), 1),
    (("train", "-m", "budget=quik,default"), 1),
    (("train", "-m", "seed=1,x"), 1),
    (("train", "-m", "model=smollm2-135m,Qwen/Qwen2.5-0.5B"), 1),
    (("train", "~model"), 1),
    (("resume", "nowhere"), 1),
]


@pytest.mark.parametrize(("arguments", "lines"), BAD, ids=[" ".join(case[0]) for case in BAD])
def test_bad_usage(arguments: tuple[str, ...], lines: int, esagent: Run, tmp_path: Path) -> None:
    done = esagent(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == lines
    assert all(line.startswith("esagent: ") for line in done.stderr.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("train", "--nope"), ("trian",), ("train", "--config-dir", "absent"), ("resume",)]
)
def test_bad_options(arguments: tuple[str, ...], esagent: Run) -> None:
    done = esagent(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_dry_run_prints_and_writes_nothing(esagent: Run, tmp_path: Path) -> None:
    done = esagent("train", "experiment=quickstart", "seed=5", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nseed: 5\n" in done.stdout
    assert "members per step" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_dry_run_as_json_is_one_object(esagent: Run) -> None:
    done = esagent(
        "train", "--dry-run", "--json", "algorithm.directions=5", "budget.steps=3", "budget.tasks_per_step=4"
    )
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["config"]["algorithm"]["directions"] == 5
    assert found["plan"]["training_episodes"] == 3 * 10 * 4


def test_multirun_names_every_mistake_before_anything_starts(esagent: Run, tmp_path: Path) -> None:
    done = esagent("train", "-m", "seed=3,4", "budget.steps=-1,2", "task.pool=0", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    first, second = sorted(done.stderr.splitlines())
    assert first.startswith("esagent: budget.steps=-1: must be")
    assert first.endswith("(in 2 of 4 jobs, as in seed=3 budget.steps=-1 task.pool=0)")
    assert second == "esagent: task.pool=0: must be from 1 to 1000000"
    assert list(tmp_path.iterdir()) == []


def test_multirun_takes_hub_ids_and_free_keys_of_ones_own_folder(esagent: Run, tmp_path: Path) -> None:
    (tmp_path / "mine" / "budget").mkdir(parents=True)
    (tmp_path / "mine" / "budget" / "short.yaml").write_text("steps: 2\ntasks_per_step: 3\n")
    overrides = ["budget=short", "model=Qwen/Qwen2.5-0.5B-Instruct", "sigma.modules.caller=0.5,2"]
    done = esagent("train", *overrides, "-m", "--dry-run", "--json", "--config-dir", "mine")
    assert done.returncode == 0, done.stderr
    configs = [job["config"] for job in json.loads(done.stdout)["jobs"]]
    assert [config["sigma"]["modules"]["caller"] for config in configs] == [0.5, 2.0]
    assert {config["model"]["source"] for config in configs} == {"Qwen/Qwen2.5-0.5B-Instruct"}
    assert {config["budget"]["steps"] for config in configs} == {2}


@pytest.mark.model
def test_a_real_run_prints_one_object_and_can_be_resumed(esagent: Run, tmp_path: Path) -> None:
    small = ["algorithm.directions=4", "task.pool=4", "task.validation=0", "task.heldout=4", "space.layers=last:2"]
    done = esagent(
        "train", "experiment=quickstart", *small, "budget.steps=1", "budget.tasks_per_step=2", "--json", timeout=280
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert {"run", "seconds", "pool", "heldout"} <= set(summary)
    assert {"base", "trained", "gain", "gain_interval"} <= set(summary["pool"])
    again = esagent("resume", summary["run"], "--json")
    assert json.loads(again.stdout) == summary
    assert "pool" in esagent("resume", "latest").stdout
    assert esagent("train", "--dry-run", "seed=1").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
