"""Whatever is wrong is told in lines of their own, with exit code 2 or 3, and leaves nothing behind."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esagent.cli.main import main
from esagent.runs.directory import RunDirectory
from esagent.train import train
from tests.cli.bad_input import ALL, Case, make_files
from tests.cli.conftest import Run
from tests.helpers.vector import vector_config, vector_parts


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    finished = train(vector_config(tmp_path_factory.mktemp("runs")), build=vector_parts)
    folder = tmp_path_factory.mktemp("place")
    make_files(folder, RunDirectory(Path(finished["run"])))
    return folder


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below `folder` with size and time of change; what Python itself caches is left out."""
    found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(p): (p.stat().st_size if p.is_file() else 0, p.stat().st_mtime_ns) for p in found if p.is_file()} | {
        str(p): (0, 0) for p in folder.rglob("*") if p.is_dir() and p.name != "__pycache__"
    }


def words(text: str, place: Path) -> str:
    (run,) = (place / "runs" / "vector").iterdir()
    return text.replace("{run}", f"runs/vector/{run.name}")


def test_the_corpus_is_large_and_has_no_case_twice() -> None:
    assert len(ALL) >= 60
    assert len({case[0] for case in ALL}) == len(ALL)


@pytest.mark.parametrize(("typed", "code", "lines"), ALL, ids=[case[0] for case in ALL])
def test_bad_input(
    typed: str,
    code: int,
    lines: list[tuple[str, ...]],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr("esagent.train.work", _accepted)
    caplog.set_level(logging.CRITICAL)
    before = contents(place)
    with pytest.raises(SystemExit) as left:
        main(words(typed, place).split(" "))
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert (left.value.code, told.out) == (code, ""), told
    found = told.err.splitlines()
    assert len(found) == len(lines), found
    for line, parts in zip(found, lines, strict=True):
        assert line.startswith("esagent: ")
        assert all(words(part, place) in line for part in parts), (line, parts)
    assert contents(place) == before


def _accepted(*_: object) -> None:
    raise AssertionError("this was to be refused before the run begins")


@pytest.mark.parametrize("case", [ALL[0], *ALL[-1:]], ids=lambda case: case[0])
def test_in_a_process_of_its_own_as_well(case: Case, esagent: Run, tmp_path: Path) -> None:
    typed, code, _ = case
    done = esagent(*typed.split(" "))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["train", "resume", "export"]),
    st.lists(
        st.text(max_size=12) | st.sampled_from(["--state", "--format", "--output", "--json", "x" * 5000, "~nobody"]),
        max_size=3,
    ),
)
def test_whatever_is_typed_there_is_no_traceback(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, typed: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("esagent.train.work", _accepted)
        before = contents(place)
        with pytest.raises(SystemExit) as left:
            main([command, *typed, *(["surely.wrong=1"] if command == "train" else [])])
        told = capsys.readouterr()
        assert left.value.code in (0, 2)
        assert "Traceback" not in told.err
        assert ("Usage: " in told.out) == (left.value.code == 0)  # the text held --help
        assert contents(place) == before
