"""`esagent export` and `esagent train init=RUN` from the command line, over a tiny model."""

from __future__ import annotations

import json

import pytest

from esagent.cli.main import main
from esagent.config.schema import SpaceConfig
from esagent.runs.directory import RunDirectory
from tests.helpers.guarded import UNLEARNED
from tests.helpers.trained import tiny_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return tiny_run(tmp_path_factory.mktemp("place"), "llama", SpaceConfig(layers="2-3"))


def succeeds(*arguments: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert not left.value.code


def test_json_is_one_object_and_people_are_told_where(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = run.path.parents[2]
    monkeypatch.chdir(place)
    succeeds("export", "latest", "--json", "--output", "there")
    done = json.loads(capsys.readouterr().out)
    assert (done["format"], done["state"], done["output"]) == ("hooks", 2, "there")
    assert all((place / "there" / name).is_file() for name in done["files"])
    succeeds("export", f"tiny/{run.id}", "--state", "1")
    folder = f"runs/tiny/{run.id}/exports/hooks-000001"
    assert capsys.readouterr().out.startswith(f"{folder}: state 1 as hooks")
    assert (place / folder / "README.md").is_file()


def test_train_goes_on_from_a_run(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.path.parents[2])
    settings = [
        *("model=./model", "model.dtype=float32", "space.layers=2-3", "backend.threads=1", "agent.max_turns=1"),
        *("agent.options.max_new_tokens={planner: 16, selector: 16, synthesizer: 16}", "algorithm.directions=4"),
        *("task=jsonl", "task.path=questions.jsonl", "task.scorer=tests.helpers.trained:share_of_vowels"),
        *("task.options={tools: [calculator], shares: [1.0, 0.0, 0.0]}", "task.pool=2", "task.validation=0"),
        *("task.heldout=0", "budget.steps=1", "budget.tasks_per_step=2", "name=child", f"guards={UNLEARNED.value}"),
    ]
    succeeds("train", *settings, "init=latest", "--json")
    summary = json.loads(capsys.readouterr().out)
    assert summary["init"] == {"run": str(run.path.resolve()), "state": 2}
    assert summary["pool"]["base"] == json.loads(run.summary.read_text())["pool"]["trained"]
