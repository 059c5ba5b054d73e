"""The folder of an evaluation: one of its own, whole or not there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from esagent.errors import EnvironmentFailure, RunError
from esagent.runs.evals import RESULT, find_eval, list_evals, new_eval, read_eval

NOW = datetime(2026, 11, 30, 13, 15, tzinfo=UTC)


def test_every_evaluation_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        with new_eval(tmp_path / "evals", "heldout", NOW) as folder:
            (folder / RESULT).write_text('{"n": 1}')
    found = list_evals(tmp_path / "evals")
    assert [folder.name for folder in found] == ["20261130-131500-heldout", "20261130-131500-heldout-2"]
    assert read_eval(found[0]) == {"n": 1}


def test_an_evaluation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        (folder / "part").write_text("x")
        raise RunError("broke")

    with pytest.raises(RunError), new_eval(tmp_path / "runs" / "eval", "pool") as folder:
        broken(folder)
    assert list(tmp_path.iterdir()) == []
    with new_eval(tmp_path / "runs" / "eval", "pool", NOW) as kept:
        pass
    with pytest.raises(KeyboardInterrupt), new_eval(tmp_path / "runs" / "eval", "pool", NOW):
        raise KeyboardInterrupt
    assert list((tmp_path / "runs" / "eval").iterdir()) == [kept]


def test_unfinished_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    with new_eval(tmp_path, "pool", NOW):
        pass
    assert list_evals(tmp_path) == []
    for text in ("{", "[]"):
        (tmp_path / RESULT).write_text(text)
        assert read_eval(tmp_path) is None
    assert read_eval(tmp_path / "absent") is None


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure, match="cannot make a folder in"), new_eval(tmp_path / "file", "pool"):
        pass


def test_an_evaluation_is_found_by_its_folder_and_without_a_run_by_its_id(tmp_path: Path) -> None:
    for folder in ("default/r/evals/a", "eval/b", "eval/unfinished"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("default/r/evals/a", "eval/b"):
        (tmp_path / folder / "eval.json").write_text("{}")
    assert find_eval(str(tmp_path / "default/r/evals/a"), tmp_path) == tmp_path / "default/r/evals/a"
    assert find_eval("default/r/evals/a", tmp_path) == tmp_path / "default/r/evals/a"
    assert find_eval("eval/b", tmp_path) == find_eval("b", tmp_path) == tmp_path / "eval/b"
    assert [find_eval(text, tmp_path) for text in ("a", "r", "eval", "unfinished", "", "x\0y", "z" * 5000)] == [
        None
    ] * 7
