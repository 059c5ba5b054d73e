"""Runs on a disk that is too small, and on a read-only one: refused or intact, and with room made as if nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Config
from esagent.errors import EnvironmentFailure
from esagent.eval import Options, evaluate_run
from esagent.fork import fork
from esagent.report.page import write_page
from esagent.report.run import read_run
from esagent.runs.directory import RunDirectory
from esagent.runs.evals import evals_folder, list_evals
from esagent.runs.find import list_runs
from esagent.runs.journal import read_journal
from esagent.train import resume, train
from tests.helpers.vector import vector_config, vector_parts
from tests.runs.disks import mount, on_disk
from tests.runs.test_damage import told


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    config = vector_config(tmp_path_factory.mktemp("undisturbed"))
    summary = train(config, build=vector_parts)
    return told(list_runs(config.runs_dir)[0].path, summary)


def _on_a_small_disk(disk: Path, kib: int, undisturbed: dict[str, Any]) -> None:
    mount(disk, kib)
    config = vector_config(disk / "runs")
    with pytest.raises(EnvironmentFailure, match=r"^[^\n]*No space left on device[^\n]*$"):
        train(config, build=vector_parts)
    runs = list_runs(config.runs_dir)
    for run in runs:
        read_journal(run.journal)
    mount(disk, 8192, again=True)
    summary = resume(runs[0].path, build=vector_parts) if runs else train(config, build=vector_parts)
    (run,) = list_runs(config.runs_dir)
    assert told(run.path, summary) == undisturbed
    assert not list(run.path.rglob(".tmp-*"))


@pytest.mark.parametrize("kib", [4, 24, 64, 112, 160, 224])
def test_a_small_disk(tmp_path: Path, kib: int, undisturbed: dict[str, Any]) -> None:
    assert on_disk(_on_a_small_disk, tmp_path, kib, undisturbed) == ""


def _evaluated(run: RunDirectory, config: Config) -> None:
    def build(config: Config) -> Any:
        parts = vector_parts(config)
        return parts.agent, parts.backend, parts.facts

    evaluate_run(run, config, config, Options(k=2), plain=True, build=build)


def _what_reads_a_run_on_a_full_disk(disk: Path) -> None:
    mount(disk, 8192)
    config = vector_config(disk / "runs", steps=2)
    train(config, build=vector_parts)
    (run,) = list_runs(config.runs_dir)
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "filler").write_bytes(b"x" * (free - 8192))
    before = sorted(disk.rglob("*"))
    for action in (
        lambda: _evaluated(run, config),
        lambda: write_page(read_run(run.path), None, disk / "page.html"),
    ):
        with pytest.raises(EnvironmentFailure, match=r"^cannot write [^\n]*No space left on device[^\n]*$"):
            action()
        assert sorted(disk.rglob("*")) == before
    (disk / "filler").unlink()
    _evaluated(run, config)
    assert len(list_evals(evals_folder(run.path))) == 1


def test_evaluations_and_pages_on_a_full_disk_leave_nothing(tmp_path: Path) -> None:
    assert on_disk(_what_reads_a_run_on_a_full_disk, tmp_path) == ""


def _on_a_read_only_disk(disk: Path, elsewhere: Path, undisturbed: dict[str, Any]) -> None:
    mount(disk, 8192)
    stopped = vector_config(disk / "stopped", steps=8)
    finished = vector_config(disk / "finished")
    train(finished, build=vector_parts)
    (run,) = list_runs(finished.runs_dir)
    train(stopped, build=vector_parts)
    (other,) = list_runs(stopped.runs_dir)
    other.summary.unlink()
    mount(disk, 8192, read_only=True, again=True)

    assert told(run.path, resume(run.path, build=vector_parts)) == undisturbed
    for action, says in (
        (lambda: resume(other.path, build=vector_parts), f"cannot lock {other.path}: Read-only file system"),
        (lambda: train(finished, build=vector_parts), "Read-only file system; set runs_dir= to a writable"),
    ):
        with pytest.raises(EnvironmentFailure, match=says):
            action()
    longer = fork(run.path, overrides=["budget.steps=9", f"runs_dir={elsewhere}"], build=vector_parts)
    assert longer["steps"] == 9


def test_a_read_only_disk(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    assert on_disk(_on_a_read_only_disk, disk, tmp_path / "elsewhere", undisturbed) == ""
