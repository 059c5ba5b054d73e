from datetime import UTC, datetime
from pathlib import Path

import pytest

from esagent.errors import ConfigError
from esagent.runs.directory import create_run
from esagent.runs.find import find_run, list_runs


def _make(runs: Path, name: str, hour: int) -> Path:
    return create_run(runs, name, 0, "", datetime(2026, 11, 30, hour, tzinfo=UTC)).path


def test_every_way_to_name_a_run(tmp_path: Path) -> None:
    old, new = _make(tmp_path, "b", 9), _make(tmp_path, "a", 10)
    assert [run.path for run in list_runs(tmp_path)] == [old, new]
    assert find_run("latest", tmp_path).path == new
    assert find_run(str(old), "elsewhere").path == old
    assert find_run("20261130-090000-s0", tmp_path).path == old
    assert find_run("a/20261130-100000-s0", tmp_path).path == new


def test_an_id_that_two_runs_have_is_not_guessed(tmp_path: Path) -> None:
    _make(tmp_path, "b", 9)
    _make(tmp_path, "a", 9)
    with pytest.raises(ConfigError, match="a/20261130-090000-s0, b/20261130-090000-s0"):
        find_run("20261130-090000-s0", tmp_path)


def test_the_nearest_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no runs"):
        find_run("x", tmp_path)
    _make(tmp_path, "a", 9)
    _make(tmp_path, "study", 10)
    with pytest.raises(ConfigError, match="nearest is study/20261130-100000-s0"):
        find_run("stdy/20261130-100000-s0", tmp_path)
