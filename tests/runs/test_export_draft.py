"""An export that is killed leaves no folder of its name, and nothing of it is left after the next one."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import SpaceConfig
from esagent.runs.directory import RunDirectory
from esagent.runs.export.draft import _locked, drafted
from esagent.runs.export.export import export
from tests.helpers.trained import tiny_run


def test_a_draft_becomes_the_folder_or_nothing(tmp_path: Path) -> None:
    with drafted(tmp_path / "a" / "out") as draft:
        (draft / "x").touch()
        assert not (tmp_path / "a" / "out").exists()
    assert [path.name for path in (tmp_path / "a").rglob("*")] == ["out", "x"]
    with pytest.raises(FileNotFoundError), drafted(tmp_path / "a" / "other") as draft:
        (draft / "no" / "x").touch()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["out"]


def test_only_what_nobody_writes_any_more_is_removed(tmp_path: Path) -> None:
    """Drafts of two writers, one of whom is at work, and of another folder."""
    dead, alive, other = (tmp_path / name for name in (".tmp-1-out[1]", ".tmp-2-out[1]", ".tmp-1-out1"))
    for folder in (dead, alive, other):
        (folder / "prompts").mkdir(parents=True)
    with _locked(alive) as held:
        assert held
        with drafted(tmp_path / "out[1]"):
            assert not dead.exists()
        assert alive.exists()
    with drafted(tmp_path / "out[1]"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".tmp-1-out1", "out[1]"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return tiny_run(tmp_path_factory.mktemp("place"), "llama", SpaceConfig(layers="2-3"))


def _die_within(run: RunDirectory, output: Path) -> None:
    """Export, and die by SIGKILL with half of the first file of numbers written."""
    hooks = importlib.import_module("esagent.runs.export.hooks")
    original = hooks.save_file

    def save_half(tensors: Any, path: Path) -> None:
        original(tensors, path)
        os.truncate(path, path.stat().st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)

    hooks.save_file = save_half  # type: ignore[attr-defined]
    export(run, "hooks", "last", output)


@pytest.mark.kill
def test_killed_in_the_middle_of_an_export(run: RunDirectory, tmp_path: Path) -> None:
    whole = export(run, "hooks", "last", tmp_path / "undisturbed")
    child = multiprocessing.get_context("spawn").Process(target=_die_within, args=(run, tmp_path / "out"))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    (leftover,) = tmp_path.glob(".tmp-*")
    assert any(leftover.glob("*.safetensors"))
    assert not (tmp_path / "out").exists()
    again = export(run, "hooks", "last", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "undisturbed"]
    assert again["files"] == whole["files"]
    for name in whole["files"]:
        if name.endswith(".safetensors"):
            assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()
