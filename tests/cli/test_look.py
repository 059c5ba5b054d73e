"""`eval`, `show` and `ls` as a user types them, on a run with a tiny language model; and what they say to mistakes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from esagent.cli import show
from esagent.cli.main import app
from esagent.config.compose import compose
from esagent.config.export import to_dict
from tests.helpers.tiny import make_tiny_folder

MODEL = ["model=./tiny", "space.layers=last:2", "backend.threads=1"]
SMALL = ["task.pool=4", "task.validation=4", "task.heldout=4", "budget.steps=2", "budget.tasks_per_step=2"]


def call(folder: Path, *arguments: str) -> Result:
    """Run the command line in `folder`, in this process: the model's libraries are loaded once for all tests here."""
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with a tiny model and a finished run of it."""
    folder = tmp_path_factory.mktemp("work")
    threads = torch.get_num_threads()
    make_tiny_folder(folder / "tiny")
    done = call(folder, "train", *MODEL, *SMALL, "algorithm.directions=4", "seed=3", "--json")
    assert done.exit_code == 0, done.stderr
    yield folder
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def evaluated(folder: Path) -> dict:
    done = call(folder, "eval", "latest", "split=heldout", "task.heldout=6", "--k", "2", "--temperature", "1", "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_eval_of_a_run_prints_one_object_and_keeps_it(folder: Path, evaluated: dict) -> None:
    kept = folder / evaluated["eval"]
    assert kept.parent.parent == folder / evaluated["run"]
    assert json.loads((kept / "eval.json").read_text()) == evaluated
    assert (evaluated["state"], evaluated["n"], evaluated["k"]) == (2, 6, 2)
    assert set(evaluated["metrics"]["pass@2"]) == {"base", "trained", "gain"}
    again = json.loads(call(folder, "eval", "latest", "task.heldout=6", "k=2", "temperature=1", "--json").stdout)
    assert again["rewards"] == evaluated["rewards"]  # sampling draws from keys, not from a state
    assert again["digests"] == evaluated["digests"]


LOUD = """
from esagent.tasks.toolbox import ToolboxFamily

class Loud(ToolboxFamily):
    def score(self, *given):
        print("noise")
        return super().score(*given)
"""


def test_what_a_family_prints_is_no_data(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder / "runs" / "default", tmp_path / "runs" / "default")
    shutil.copytree(folder / "tiny", tmp_path / "tiny")
    (tmp_path / "loud.py").write_text(LOUD)
    monkeypatch.syspath_prepend(tmp_path)
    done = call(tmp_path, "eval", "latest", "task.target=loud:Loud", "n=2", "k=0", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["n"] == 2
    assert done.stderr.count("noise\n") == 4


def test_eval_of_a_bare_model_prints_a_table(folder: Path) -> None:
    done = call(folder, "eval", *MODEL, "--n", "3", "--k", "0", "--split", "validation")
    assert done.exit_code == 0, done.stderr
    assert "3 validation tasks" in done.stdout
    assert "gain" not in done.stdout
    assert len(done.stderr.splitlines()) == 1
    (kept,) = (folder / "runs" / "eval").iterdir()
    assert {path.name for path in kept.iterdir()} == {"eval.json", "manifest.json", "base-greedy.jsonl.zst"}

    assert f"esagent show runs/eval/{kept.name} --episode 0" in done.stdout
    for named in (str(kept), f"runs/eval/{kept.name}", f"eval/{kept.name}", kept.name):
        shown = call(folder, "show", named)
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert "3 validation tasks" in shown.stdout
    assert json.loads(call(folder, "show", kept.name, "--json").stdout) == json.loads((kept / "eval.json").read_text())
    talk = call(folder, "show", kept.name, "--episode", "2")
    assert "base-greedy.jsonl.zst, episode 2" in talk.stdout


def test_an_evaluation_of_a_run_is_shown_by_its_folder(folder: Path, evaluated: dict) -> None:
    shown = call(folder, "show", evaluated["eval"])
    assert (shown.exit_code, shown.stderr) == (0, "")
    for part in ("6 heldout tasks", "pass@2", "gain", f"esagent show {evaluated['eval']} --episode 0"):
        assert part in shown.stdout
    talk = call(folder, "show", evaluated["eval"], "--episode", "1", "--agent", "base", "--sample", "1")
    assert "base-sampled.jsonl.zst, episode 1" in talk.stdout


@pytest.mark.parametrize("content", ["", "[", "[1]", '{"metrics": 3}', '{"signals": [1], "cost": "x", "unscored": 4}'])
def test_a_damaged_evaluation_is_one_line(tmp_path: Path, content: str) -> None:
    kept = tmp_path / "runs" / "eval" / "x"
    kept.mkdir(parents=True)
    (kept / "eval.json").write_text(content)
    done = call(tmp_path, "show", "x")
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("esagent: runs/eval/x")


@pytest.mark.parametrize(
    ("options", "says"),
    [("--html", "has no page"), ("--episode 0 --step 1", "--agent and --sample choose"), ("--episode 9", "0 to 5")],
)
def test_what_an_evaluation_does_not_have(folder: Path, evaluated: dict, options: str, says: str) -> None:
    done = call(folder, "show", evaluated["eval"], *options.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_settings_that_an_earlier_version_lacked_are_no_differences() -> None:
    settings = to_dict(compose(["seed=3", "budget.task_sampling=uniform"]))
    del settings["credit"], settings["budget"]["task_sampling"]
    assert show._settings(settings) == {
        "seed": {"value": 3, "default": 0},
        "budget.task_sampling": {"value": "uniform", "default": "variance"},
    }


def test_show_in_all_its_forms(folder: Path, evaluated: dict) -> None:
    shown = call(folder, "show", "latest")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for part in ("finished, 2 of 2 updates", "task.pool", "held-out", "planner", "pass@2", "journal.jsonl"):
        assert part in shown.stdout
    data = json.loads(call(folder, "show", evaluated["run"], "--json").stdout)
    assert data["settings"]["seed"] == {"value": 3, "default": 0}
    assert data["evals"][0]["id"] == Path(evaluated["eval"]).name

    talk = call(folder, "show", "latest", "--episode", "1")
    assert "eval-000002-heldout.jsonl.zst, episode 1" in talk.stdout
    assert "unperturbed agent, trained, after step 2" in talk.stdout
    assert "unperturbed agent, base" in call(folder, "show", "latest", "--episode", "1", "--step", "0").stdout
    assert "1  planner" in talk.stdout
    options = ["--eval", "latest", "--agent", "base", "--sample", "1"]
    found = json.loads(call(folder, "show", "latest", "--episode", evaluated["tasks"][2], *options, "--json").stdout)
    assert found["file"].endswith("base-sampled.jsonl.zst")
    assert found["state"] == "base"
    assert (found["episode"]["task"]["id"], found["episode"]["sample"]) == (evaluated["tasks"][2], 1)

    page = call(folder, "show", "latest", "--html", "page.html")
    assert (page.exit_code, page.stdout) == (0, "page.html\n")
    assert (folder / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert call(folder, "show", "latest", "--html").stdout == f"{evaluated['run']}/report.html\n"


def test_a_conversation_of_another_run_is_told_from_ones_own(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "runs" / "default", tmp_path / "runs" / "default")
    (run,) = (tmp_path / "runs" / "default").iterdir()
    for options, name in (("", "eval-000002-heldout"), (" --step 1 --member 0", "step-000001")):
        path = run / "episodes" / f"{name}.jsonl.zst"
        assert call(tmp_path, "show", "latest", "--episode", "0", *options.split()).stderr == ""
        shutil.copy(run / "episodes" / "step-000000.jsonl.zst", path)
        told = call(tmp_path, "show", "latest", "--episode", "0", *options.split()).stderr
        assert told == f"esagent: {path.relative_to(tmp_path)} is damaged or of another run\n"


def test_the_folder_one_stands_in_is_named(folder: Path) -> None:
    (run,) = (folder / "runs" / "default").iterdir()
    shown = json.loads(call(run, "show", ".", "--json").stdout)
    assert (shown["name"], shown["id"]) == ("default", run.name)


@pytest.mark.parametrize("columns", ["0", "1", "20", "60", "-5", "many"])
def test_a_narrow_terminal_still_says_which_run(folder: Path, columns: str) -> None:
    (run,) = (folder / "runs" / "default").iterdir()
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, ["ls"], env={"FORCE_COLOR": "1", "COLUMNS": columns})
    assert done.exit_code == 0
    cells = re.sub(r"\x1b\[[\d;]*m", "", done.stdout).splitlines()[2:]
    assert "".join(line.split("  ")[0].strip() for line in cells).startswith(f"default/{run.name}"[:12])
    assert "finished" in done.stdout


def test_ls(folder: Path) -> None:
    (row,) = json.loads(call(folder, "ls", "--json").stdout)["runs"]
    assert (row["state"], row["updates"], row["steps"], row["name"]) == ("finished", 2, 2, "default")
    listed = call(folder, "ls", "runs")
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert f"default/{row['id']}" in listed.stdout


BAD = [
    ("eval latest --split helout", 2, "split=helout: did you mean heldout? choose from pool, validation, heldout"),
    ("eval latest n=x k=1.5", 2, "n=x: n must be a whole number\nk=1.5: k must be a whole number"),
    ("eval latest n=0 k=-1 temperature=0", 2, "n=0: must be from 1\nk=-1: must be from 0\ntemperature=0.0: must be"),
    ("eval latest temperature=nan", 2, "temperature=nan: must be above 0"),
    ("eval latest other", 2, "'other': one run at a time"),
    ("eval lates", 2, "run 'lates' does not exist in runs"),
    ("eval latest --state 7", 2, "state 7: runs/"),
    ("eval latest --state first", 2, "state 'first': must be best, last"),
    ("eval latest model=a/b", 2, "model: eval keeps what a run was trained with"),
    ("eval latest tsak.level=hard", 2, "tsak.level: no such key; did you mean task.level?"),
    ("eval latest split=pool n=5", 2, "n=5: the run was trained on 4 tasks"),
    ("eval model=./absent", 2, "model.source=./absent: no model there"),
    ("show latest --step 1", 2, "add --episode N"),
    ("show latest page.html", 2, "page.html: a file is written with --html alone"),
    ("show latest --html --episode 1", 2, "one at a time"),
    ("show latest --episode 99", 2, "numbered 0 to 3"),
    ("show latest --episode 0 --member 9", 2, "holds no episode of member 9"),
    ("show nowhere", 2, "run 'nowhere' does not exist"),
    ("show latest --html runs/no/such/page.html", 3, "cannot write runs/no/such/page.html"),
    ("show latest --html .", 2, ".: is a folder; name the file"),
    ("show latest --html runs", 3, "cannot write runs: there is something that is no file"),
    (f"show latest --html {'x' * 300}", 3, "File name too long"),
    ("ls nowhere", 2, "nowhere: no such folder"),
    (f"ls {'x' * 300}", 2, "x: no such folder"),
    (f"stats {'x' * 300}", 2, "x: no such folder or run"),
    (f"show {'x' * 300}", 2, "does not exist in runs"),
]


@pytest.mark.parametrize(("typed", "code", "lines"), BAD, ids=[typed for typed, *_ in BAD])
def test_mistakes_get_a_line_each(folder: Path, typed: str, code: int, lines: str) -> None:
    before = sorted(folder.rglob("*"))
    done = call(folder, *typed.split())
    told = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (code, "")
    assert len(told) == len(lines.split("\n"))
    assert all(
        line.startswith("esagent: ") and part in line for line, part in zip(told, lines.split("\n"), strict=True)
    )
    assert sorted(folder.rglob("*")) == before


def _noise(path: Path) -> None:
    path.write_bytes(os.urandom(300))


def _foreign(path: Path) -> None:
    path.write_text('{"model": 3, "task": [], "budget": "x", "versions": 4, "command": 5, "pool": {"gain": "y"}}\n')


@pytest.mark.parametrize("spoil", [_noise, _foreign, Path.unlink])
@pytest.mark.parametrize("file", ["config.yaml", "manifest.json", "journal.jsonl", "metrics.jsonl", "summary.json"])
def test_damaged_runs_never_end_in_a_traceback(
    folder: Path, tmp_path: Path, file: str, spoil: Callable[[Path], None]
) -> None:
    shutil.copytree(folder / "runs" / "default", tmp_path / "runs" / "default")
    (run,) = (tmp_path / "runs" / "default").iterdir()
    spoil(run / file)
    for typed in ("ls", "show RUN", "show RUN --episode 0", "show RUN --html"):
        done = call(tmp_path, *typed.replace("RUN", str(run)).split())
        assert done.exit_code in ((0,) if typed.startswith("ls") else (0, 1, 2)), typed
        assert not isinstance(done.exception, Exception), typed  # SystemExit is none
        assert "Traceback" not in done.stderr, typed
        assert "unexpected" not in done.stderr, typed


@pytest.mark.parametrize("command", [["eval", "k=0"], ["export"]])
def test_a_run_whose_settings_were_edited_is_not_taken_for_what_it_was(
    folder: Path, tmp_path: Path, command: list[str]
) -> None:
    shutil.copytree(folder / "runs" / "default", tmp_path / "runs" / "default")
    shutil.copytree(folder / "tiny", tmp_path / "tiny")
    (config,) = (tmp_path / "runs" / "default").glob("*/config.yaml")
    config.write_text(config.read_text().replace("max_turns: 2", "max_turns: 3"))
    done = call(tmp_path, command[0], "latest", *command[1:])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1:] == ["esagent: agent.max_turns was 2, is 3"]


def test_evaluating_damage_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "runs" / "default", tmp_path / "runs" / "default")
    shutil.copytree(folder / "tiny", tmp_path / "tiny")
    (run,) = (tmp_path / "runs" / "default").iterdir()
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    (run / "journal.jsonl").write_text(lines[0].replace("step", "stpe", 1) + lines[1])
    done = call(tmp_path, "eval", "latest")
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "line 1 of 2" in done.stderr
