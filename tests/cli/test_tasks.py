"""`ls tasks` and `show task=FAMILY` as a user types them, and what they say to mistakes."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from esagent.cli.main import app
from esagent.tasks.registry import FAMILIES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def call(folder: Path, typed: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, typed.split())


def test_every_family_is_listed(folder: Path) -> None:
    rows = json.loads(call(folder, "ls tasks --json").stdout)["families"]
    assert [row["family"] for row in rows] == list(FAMILIES)
    assert all(row["summary"] for row in rows)
    (qa,) = (row for row in rows if row["family"] == "qa")
    assert (qa["installed"], qa["missing"], qa["levels"]) == (True, "", ["easy", "medium", "hard"])
    assert set(qa["splits"]) == {"train", "validation", "heldout"}
    listed = call(folder, "ls tasks")
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert all(name in listed.stdout for name in FAMILIES)
    assert not list(folder.iterdir())


def test_tasks_are_shown_with_their_gold(folder: Path) -> None:
    shown = json.loads(call(folder, "show task=qa split=test n=2 seed=5 task.level=hard --json").stdout)
    assert (shown["family"], shown["split"], shown["seed"]) == ("qa", "heldout", 5)
    assert len(shown["tasks"]) == 2
    for task in shown["tasks"]:
        assert task["id"].startswith("qa-hard-heldout-5-")
        assert task["gold"]["answer"] == task["payload"]["answer"]
        assert [call["result"] for call in task["gold"]["calls"]] == [c["result"] for c in task["payload"]["calls"]]
        assert len(task["gold"]["plan"]) == len(task["gold"]["calls"])
    done = call(folder, "show task=qa split=test n=2 seed=5 task.level=hard")
    assert (done.exit_code, done.stderr) == (0, "")
    text = re.sub(r"\s+", " ", done.stdout)
    for task in shown["tasks"]:
        for part in (task["id"], task["gold"]["answer"], *task["gold"]["plan"]):
            assert part in text
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["toolbox", "synthetic", "qa"])
def test_families_are_shown_three_training_tasks_at_a_time(folder: Path, name: str) -> None:
    shown = json.loads(call(folder, f"show task={name} --json").stdout)
    assert (shown["split"], len(shown["tasks"])) == ("train", 3)
    assert call(folder, f"show task={name} --split pool --n 1").exit_code == 0


def test_a_file_is_shown_too(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"question": "who", "answer": ["Ann"], "split": "test"}\n')
    (task,) = json.loads(call(folder, "show task=qa task.path=rows.jsonl split=test n=1 --json").stdout)["tasks"]
    assert (task["question"], task["gold"]["answer"], task["tools"]) == ("who", "Ann", [])


BAD = [
    ("ls taks", "taks: no such folder; did you mean tasks?"),
    ("show task=qaa", "task=qaa: not an option of task; did you mean qa?"),
    ("show task=qa split=tset", "split=tset: did you mean test? choose from train, validation, heldout, test"),
    ("show task=qa n=0", "n=0: must be a whole number from 1 to 1000"),
    ("show task=qa n=many", "n=many: must be a whole number from 1 to 1000"),
    ("show task=qa --n -3", "n=-3: must be a whole number from 1 to 1000"),
    ("show task=qa task.level=hrad", "task.level=hrad: did you mean hard?"),
    ("show task=qa tsak.level=hard", "tsak.level=hard: of tasks are shown task, task.*, seed, split and n"),
    ("show task=qa latest", "latest: of tasks are shown task"),
    ("show task=qa --episode 1", "tasks of a family take --split, --n and --json"),
    ("show task=jsonl", "task.path=null: task=jsonl needs a file"),
    ("show task=qa task.path=none.jsonl", "task.path=none.jsonl: no such file"),
    ("show task=qa task.scorer=f1", "task.scorer=f1: task=qa scores by itself"),
    ("show latest --n 3", "--n 3: is for tasks of a family"),
    ("show latest a.html b.html", "'b.html': one run at a time, 'latest' was named before"),
]


@pytest.mark.parametrize(("typed", "part"), BAD, ids=[typed for typed, _ in BAD])
def test_mistakes_get_a_line(folder: Path, typed: str, part: str) -> None:
    done = call(folder, typed)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("esagent: ")
    assert part in line
    assert not list(folder.iterdir())


FAILING = """
from tests.agents.scripted import Sums

class Failing(Sums):
    def gold(self, task):
        raise KeyError("answer")
"""


def test_a_family_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "shown_families.py").write_text(FAILING)
    shown = json.loads(call(folder, "show task.target=tests.agents.scripted:Sums n=1 --json").stdout)
    assert shown["tasks"][0]["question"] == "Add 0 and 2."
    done = call(folder, "show task.target=shown_families:Failing")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "esagent: task: sums.gold fails: KeyError: 'answer'" in done.stderr
