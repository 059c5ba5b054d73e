"""Exceptions become one line on standard error and an exit code, in one place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from esagent.cli.errors import guarded
from esagent.errors import ConfigError, EnvironmentFailure, EsagentError, Interrupted, InvalidRun, Preempted, RunError
from tests.stats.studies import write_run

CASES = [
    (ConfigError("a: wrong", "b: worse"), 2, ["esagent: a: wrong", "esagent: b: worse"]),
    (EnvironmentFailure("no model\nhere"), 3, ["esagent: no model here"]),
    (
        InvalidRun("no spread", "no effect", advice="guards=warn"),
        3,
        ["esagent: no spread", "esagent: no effect", "esagent: guards=warn"],
    ),
    (RunError("broke"), 1, ["esagent: broke"]),
    (Preempted("later"), 75, ["esagent: later"]),
    (Interrupted("saved"), 130, ["esagent: saved"]),
    (KeyboardInterrupt(), 130, ["esagent: interrupted"]),
]


@pytest.mark.parametrize(("error", "code", "lines"), CASES, ids=[type(case[0]).__name__ for case in CASES])
def test_each_error_has_its_line_and_code(
    error: BaseException, code: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught, guarded():
        raise error
    captured = capsys.readouterr()
    assert caught.value.exit_code == code
    assert captured.err.splitlines() == lines
    assert captured.out == ""


def test_every_typed_error_has_a_case() -> None:
    assert set(EsagentError.__subclasses__()) <= {type(error) for error, _, _ in CASES}


def test_a_bug_keeps_its_traceback_in_the_run_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = ZeroDivisionError("by zero\nsecond line")
    error.run_dir = tmp_path  # type: ignore[attr-defined]
    with pytest.raises(typer.Exit) as caught, guarded():
        raise error
    assert caught.value.exit_code == 1
    told = capsys.readouterr().err
    assert told == f"esagent: unexpected ZeroDivisionError: by zero; traceback in {tmp_path / 'error.log'}\n"
    assert "raise error" in (tmp_path / "error.log").read_text()


def test_a_bug_whose_traceback_cannot_be_kept_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "error.log").mkdir()
    error = ZeroDivisionError("by zero")
    error.run_dir = tmp_path  # type: ignore[attr-defined]
    with pytest.raises(typer.Exit), guarded():
        raise error
    assert "Traceback" in capsys.readouterr().err


def test_a_bug_without_a_run_shows_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught, guarded():
        raise ZeroDivisionError
    assert caught.value.exit_code == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("esagent: unexpected ZeroDivisionError: no message")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["train", "--dry-run"], ["train", "--dry-run", "--json"], ["--version"]])
def test_a_full_disk_behind_standard_output_is_one_line(command: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "esagent", *command], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, text=True
        )
    assert (done.returncode, done.stderr) == (
        3,
        "esagent: cannot write to standard output: No space left on device\n",
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_lead_nowhere(closed: str, tmp_path: Path) -> None:
    code = f'"{sys.executable}" -m esagent train sede=1 {closed}; echo $?'
    done = subprocess.run(["bash", "-c", code], capture_output=True, cwd=tmp_path, text=True, check=True)
    assert done.stdout == "2\n"
    assert done.stderr == ("" if "2>&-" in closed else "esagent: sede: no such key; did you mean seed?\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["PYTHONIOENCODING=ascii", "PYTHONIOENCODING=latin-1"])
def test_a_terminal_without_unicode_is_no_error(variable: str, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "study" / "ü")
    environment = os.environ | dict([variable.split("=")])
    listed, shown = (
        subprocess.run(
            [sys.executable, "-m", "esagent", *command], env=environment, cwd=tmp_path, capture_output=True, check=True
        ).stdout
        for command in (["ls"], ["show", "study/ü", "--json"])
    )
    assert b"finished" in listed
    assert json.loads(shown)["id"] == "ü"


def test_messages_that_cannot_be_written_leave_the_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "esagent", "show", "nowhere"]
        done = subprocess.run(command, stderr=full, cwd=tmp_path, capture_output=False, check=False)
    assert done.returncode == 2


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    code = f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -P -m esagent train --dry-run'
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["bash", "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "esagent: the current folder does not exist any more; change to one that does\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "esagent", "train", "--dry-run"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, text=True, check=False)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""
