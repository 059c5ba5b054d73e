"""A run is taken up from another folder than the one it was started in, whatever its settings name relative to that."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from esagent.agents.registry import PROMPTS
from esagent.config.export import job_key, to_dict
from esagent.eval import Options, evaluate_run
from esagent.fork import fork
from esagent.runs.export.export import export
from esagent.runs.find import find_run, list_runs
from esagent.runs.matching import find_runs
from esagent.runs.place import located, read_located
from esagent.train import resume, train
from tests.helpers.tiny import make_tiny_folder
from tests.runs.tiny_run import tiny_config

SCORER = "def vowels(answer, gold):\n    return sum(c in 'aeiou' for c in answer) / max(1, len(answer))\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the run is started: a model, prompts, questions and a scorer of one's own."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "elsewhere").mkdir()
    make_tiny_folder(home / "tiny", layers=2)
    shutil.copytree(PROMPTS["modular"], home / "my_prompts")
    rows = [
        {"question": f"What is {i} and {place}?", "answer": f"{i} {place}", "split": split}
        for i in range(4)
        for place, split in enumerate(("train", "validation", "heldout"))
    ]
    (home / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (home / "scorer_at_home.py").write_text(SCORER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(home)
    return home


OVERRIDES = (
    *("agent.prompts=my_prompts", "task=jsonl", "task.path=questions.jsonl", "task.scorer=scorer_at_home:vowels"),
    *("task.pool=4", "task.heldout=2", "budget.steps=1", "budget.tasks_per_step=2", "budget.select=last"),
    *("algorithm.directions=2", "space.layers=last:1", "allocation=joint", "task.target=null"),
    "guards=off",  # the scorer is none that gold answers satisfy
)


def test_everything_that_takes_up_a_run_finds_its_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(Path("./tiny"), Path("runs"), *OVERRIDES)
    summary = train(config, json_mode=True)
    assert summary["pool"]["trained"] > 0, "or another answer would look the same"
    (run,) = list_runs(home / "runs")
    (run.path / "summary.json").unlink()
    monkeypatch.chdir(home.parent / "elsewhere")
    sys.modules.pop("scorer_at_home", None)
    sys.path[:] = [folder for folder in sys.path if folder not in ("", str(home))]

    again = resume(run.path, json_mode=True)
    assert (again["digest"], again["heldout"]) == (summary["digest"], summary["heldout"])
    assert find_runs(home / "runs" / config.name).keys() == {job_key(config)}, "a sweep knows it as it was typed"
    trained = read_located(run)
    assert trained.model.source == str(home / "tiny")
    assert evaluate_run(run, trained, trained, Options("heldout", k=0), plain=True)["n"] == 2
    done = export(run, None, "last", Path("exported"))
    assert done["base"] == str((home / "tiny").resolve())
    forked = fork(run.path, overrides=["budget.steps=2"], json_mode=True)
    assert forked["steps"] == 2
    monkeypatch.chdir(home.parent)
    assert resume(Path(forked["run"]), json_mode=True)["digest"] == forked["digest"]
    own = [f"init={run.path}", f"task.path={home}/questions.jsonl", f"agent.prompts={home}/my_prompts"]
    child = tiny_config(home / "tiny", Path("runs"), *OVERRIDES, *own)
    assert train(child, json_mode=True)["init"]["state"] == 1


def test_what_is_left_as_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = to_dict(tiny_config(Path("./tiny"), Path("runs"), *OVERRIDES))
    known = {**settings, "model": {**settings["model"], "name": "smollm2-135m", "source": "embedded"}}
    (home / "smollm2-135m").mkdir()
    assert located(settings, {"cwd": str(home)}) == settings, "one is there"
    monkeypatch.chdir(home.parent)
    moved = located(settings, {"cwd": str(home)})
    assert moved["task"]["path"] == str(home / "questions.jsonl")
    assert settings["task"]["path"] == "questions.jsonl"
    assert located(moved, {"cwd": str(home)}) == moved
    assert located(known, {"cwd": str(home)})["model"] == known["model"], "a known name is no folder"
    for cwd in (None, "", "gone", str(home / "gone")):
        assert located(settings, {"cwd": cwd}) == settings
    assert located({**settings, "model": 3, "agent": None}, {"cwd": str(home)})["model"] == 3


def test_without_a_manifest_settings_are_as_they_stand(home: Path) -> None:
    run = train(tiny_config(Path("./tiny"), Path("runs"), *OVERRIDES), json_mode=True)["run"]
    path = find_run(run).manifest
    assert json.loads(path.read_text())["cwd"] == str(home)
    path.write_text("{")
    assert read_located(find_run(run)).model.source == "./tiny"
