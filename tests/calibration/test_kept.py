"""A run keeps the sigma it began with: written down before its first step, sealed, never found again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.calibration import kept
from esagent.config.schema import Config, ScheduleKind
from esagent.errors import ConfigError, Interrupted, RunError
from esagent.fork import fork
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.vector import MODULES, VectorBackend, vector_config, vector_parts


def config_of(folder: Path, **sigma: Any) -> Config:
    config = vector_config(folder)
    settings = {"schedule": ScheduleKind.linear, "start": 1.0, "end": 0.5, "auto": True}
    config.sigma = replace(config.sigma, **{**settings, **sigma})
    return config


def run_of(config: Config) -> RunDirectory:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return RunDirectory(path)


def outcome(run: RunDirectory) -> list[Any]:
    return [(r["digest"], r["rewards"], r["sigma"]) for r in read_journal(run.journal)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, RunDirectory, dict[str, Any]]:
    config = config_of(tmp_path_factory.mktemp("runs"))
    summary = train(config, build=vector_parts)
    return config, run_of(config), summary


def refuse(*_: object) -> None:
    raise AssertionError("sigma is found once")


def stopped(config: Config) -> RunDirectory:
    """A run interrupted after four steps."""

    class Stopping(VectorBackend):
        def apply(self, update: Any) -> Any:
            if update.step == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().apply(update)

    with pytest.raises(Interrupted):
        train(config, build=lambda c: replace(vector_parts(c), backend=Stopping()))
    return run_of(config)


def test_the_schedule_scales_what_was_found(finished: tuple[Config, RunDirectory, dict[str, Any]]) -> None:
    _, run, _ = finished
    sigma = json.loads(run.calibration.read_text())["sigma"]
    assert list(sigma) == list(MODULES)
    records = read_journal(run.journal)
    assert records[0]["sigma"] == sigma
    assert records[-1]["sigma"] == pytest.approx({name: 0.5 * value for name, value in sigma.items()})


def test_it_is_told_in_summary_and_metrics_and_counted_apart(
    finished: tuple[Config, RunDirectory, dict[str, Any]],
) -> None:
    config, run, summary = finished
    (row,) = [row for row in read_rows(run.metrics) if row["kind"] == "calibration"]
    assert summary["calibration"] == row
    assert row["sigma"] == json.loads(run.calibration.read_text())["sigma"]
    assert row["cost"]["requests"] > 0
    assert row["seconds"] > 0
    assert summary["ledger"]["calibration"]["episodes"] == row["episodes"]
    assert summary["ledger"]["calibration"]["prompt_tokens"] == row["cost"]["prompt_tokens"]
    steps = [r for r in read_rows(run.metrics) if r["kind"] == "step"]
    assert summary["episodes"] == sum(r["episodes"] for r in steps) == 12 * 12 * config.budget.steps


def test_a_resumed_run_uses_the_very_same_numbers(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, run, summary = finished
    again = stopped(replace(config, runs_dir=str(tmp_path)))
    before = again.calibration.read_bytes()
    monkeypatch.setattr(kept, "calibrate", refuse)
    found = resume(again.path, build=vector_parts)
    assert again.calibration.read_bytes() == before
    assert outcome(again) == outcome(run)
    assert found["digest"] == summary["digest"]
    assert found["calibration"]["sigma"] == summary["calibration"]["sigma"]
    assert [r["kind"] for r in read_rows(again.metrics)].count("calibration") == 1


@pytest.mark.parametrize("damage", ["missing", "damaged", "of another run"])
def test_beside_records_a_lost_calibration_is_refused(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path, damage: str
) -> None:
    config, run, _ = finished
    again = stopped(replace(config, runs_dir=str(tmp_path)))
    if damage == "missing":
        again.calibration.unlink()
    elif damage == "damaged":
        again.calibration.write_text(again.calibration.read_text().replace("0.", "1.", 1))
    else:
        again.calibration.write_bytes(run.calibration.read_bytes())
    files = {p: p.read_bytes() for p in (again.journal, again.manifest)}
    with pytest.raises(RunError, match=r"calibration\.json is (missing|damaged); bring it back"):
        resume(again.path, build=vector_parts)
    assert {p: p.read_bytes() for p in files} == files


@pytest.mark.parametrize("when", ["searching", "row written", "file damaged"])
def test_before_the_first_step_it_is_found_again_to_the_same_numbers(
    finished: tuple[Config, RunDirectory, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    """A kill in the search, or between the row and the file; a file that was damaged before any step."""
    config, run, summary = finished
    config = replace(config, runs_dir=str(tmp_path))

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(kept, "calibrate" if when == "searching" else "write_json", die)
        with pytest.raises(Killed):
            train(config, build=vector_parts)
    again = run_of(config)
    assert not again.calibration.exists()
    if when == "file damaged":
        again.calibration.write_text("{}")
    assert resume(again.path, build=vector_parts)["digest"] == summary["digest"]
    assert outcome(again) == outcome(run)
    assert [r["kind"] for r in read_rows(again.metrics)].count("calibration") == 1


def test_a_lost_row_of_metrics_comes_back(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path
) -> None:
    config, _, _ = finished
    again = stopped(replace(config, runs_dir=str(tmp_path)))
    again.metrics.unlink()
    found = resume(again.path, build=vector_parts)
    (row,) = [row for row in read_rows(again.metrics) if row["kind"] == "calibration"]
    assert found["calibration"] == row


def test_a_fork_keeps_its_parents_calibration(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, _, _ = finished
    parent = stopped(replace(config, runs_dir=str(tmp_path)))
    monkeypatch.setattr(kept, "calibrate", refuse)
    found = fork(parent.path, overrides=["budget.steps=5"], build=vector_parts)
    run = RunDirectory(Path(found["run"]))
    sigma = json.loads(parent.calibration.read_text())["sigma"]
    assert json.loads(run.calibration.read_text())["sigma"] == sigma
    assert read_journal(run.journal)[-1]["sigma"] == pytest.approx({k: 0.5 * v for k, v in sigma.items()})
    with pytest.raises(ConfigError, match=r"sigma\.target was 0\.3, is 0\.1: a fork keeps"):
        fork(parent.path, overrides=["sigma.target=0.1"], build=vector_parts)


def test_without_auto_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "calibrate", refuse)
    config = vector_config(tmp_path, steps=1)
    summary = train(config, build=vector_parts)
    assert "calibration" not in summary
    assert not run_of(config).calibration.exists()


@pytest.mark.kill
@pytest.mark.parametrize("where", ["kept.append_row", "kept.write_json", "kept.calibration_table"])
def test_a_run_killed_while_it_calibrates_ends_as_undisturbed(
    finished: tuple[Config, RunDirectory, dict[str, Any]], tmp_path: Path, where: str
) -> None:
    """SIGKILL before the row, between the row and the file, and right after the file."""
    config, run, summary = finished
    code = f"""
import os, signal
from dataclasses import replace
from pathlib import Path
from esagent.calibration import kept
from esagent.train import train
from tests.calibration.test_kept import config_of
from tests.helpers.vector import vector_parts

{where} = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
train(config_of(Path({str(tmp_path)!r})), build=vector_parts)
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    killed = run_of(replace(config, runs_dir=str(tmp_path)))
    assert killed.calibration.exists() == (where == "kept.calibration_table")
    assert resume(killed.path, build=vector_parts)["digest"] == summary["digest"]
    assert outcome(killed) == outcome(run)
    assert [r["kind"] for r in read_rows(killed.metrics)].count("calibration") == 1
