"""guards=strict, warn and off: what ends a run, what is written, and runs of a version without guards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from esagent.config.compose import compose
from esagent.config.schema import Config, Guards
from esagent.errors import Interrupted, InvalidRun
from esagent.fork import fork
from esagent.guards.finding import Finding, enforce, merged
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import read_manifest
from esagent.runs.journal import Journal, read_journal
from esagent.runs.seal import sealed
from esagent.train import resume, train
from tests.guards.test_rewards import Flat, JudgeDown
from tests.helpers.vector import vector_config, vector_parts

FAULT = Finding("effect", "fault", "nothing moves", "raise sigma", 0.0)
LATER = ("suspect", "suspect_reason", "restored", "previous", "checksum")
NOTE = Finding("power", "note", "few tasks", "take more", 0.5)


def broken(family):  # type: ignore[no-untyped-def]
    """Parts with a broken family in place of the sound one."""
    return lambda config: replace(vector_parts(config), family=family)


def test_a_fault_before_the_run_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InvalidRun, match="guard harness") as caught:
        train(vector_config(tmp_path / "runs"), build=broken(JudgeDown()))
    assert caught.value.exit_code == 3
    assert len(caught.value.problems) == 2
    assert not (tmp_path / "runs").exists()


def test_warn_writes_it_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = replace(vector_config(tmp_path, steps=1), guards=Guards.warn)
    summary = train(config, build=broken(JudgeDown(answers=200)))
    assert "guard harness" in caplog.text
    assert [(f["guard"], f["level"]) for f in summary["guards"]["findings"]] == [("harness", "note")]
    manifest = read_manifest(RunDirectory(Path(summary["run"])))
    assert manifest["guards"]["mode"] == "warn"
    assert manifest["guards"]["seconds"] > 0


def test_strict_and_warn_and_notes(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidRun) as caught:
        enforce([NOTE, FAULT], Guards.strict)
    assert caught.value.problems[0] == "guard effect: nothing moves; raise sigma"
    assert "guards=warn" in caught.value.problems[-1]
    assert "few tasks" in caplog.text
    enforce([FAULT], Guards.warn)
    assert "nothing moves" in caplog.text
    enforce([NOTE], Guards.strict)


def test_findings_as_plain_data() -> None:
    step = replace(FAULT, figure=float("inf"), step=3)
    assert json.loads(json.dumps(step.to_dict()))["figure"] is None
    assert FAULT.to_dict() == vars(FAULT)
    assert "(step 3)" in step.line
    assert merged([FAULT, NOTE, step, replace(NOTE, level="ok")]) == [FAULT, NOTE]


@pytest.mark.parametrize("mode", list(Guards))
def test_the_word_off_is_no_truth_value(mode: Guards) -> None:
    assert compose([f"guards={mode.value}"]).guards is mode
    assert compose().guards is Guards.strict


def test_a_run_of_a_version_without_guards_is_resumed(tmp_path: Path) -> None:
    """Its settings and manifest lack the key. A fault is told, and does not stop what was begun without guards."""
    config = vector_config(tmp_path, steps=4)
    run = stopped(config)
    as_of_earlier(run)
    summary = resume(run.path, build=broken(Flat()))
    assert summary["steps"] == 4
    assert summary["guards"]["mode"] == "warn"


def test_a_fork_may_go_on_where_strict_stopped(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=5)
    with pytest.raises(InvalidRun, match="steps in a row"):
        train(config, build=broken(Flat()))
    (run,) = (tmp_path / "vector").iterdir()
    summary = fork(run, overrides=["guards=warn"], build=broken(Flat()))
    assert summary["steps"] == 5
    assert [f["guard"] for f in summary["guards"]["findings"] if f["level"] == "fault"] == ["spread"]


def stopped(config: Config) -> RunDirectory:
    """A run of the sound world that was stopped after its first step."""

    class Stopping(type(vector_parts(config).backend)):  # type: ignore[misc]
        def apply(self, update):  # type: ignore[no-untyped-def]
            if update.step == 1:
                raise Interrupted("stop")
            return super().apply(update)

    with pytest.raises(Interrupted):
        train(config, build=lambda config: replace(vector_parts(config), backend=Stopping()))
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return RunDirectory(path)


def as_of_earlier(run: RunDirectory) -> None:
    """Take out of a run what a version without guards did not write: settings, manifest, and fields of its records."""
    manifest = {k: v for k, v in read_manifest(run).items() if k not in ("checksum", "guards")}
    manifest["config"].pop("guards")
    whole = sealed(manifest)
    records = read_journal(run.journal)
    run.manifest.write_text(json.dumps(whole))
    run.config.write_text("".join(line for line in run.config.open() if not line.startswith("guards:")))
    run.journal.unlink()
    with Journal(run.journal, whole["checksum"]) as journal:
        for record in records:
            body = {k: v for k, v in record.items() if k not in LATER}
            journal.append(body)
    run.metrics.unlink()
    for snapshot in run.snapshots.iterdir():
        snapshot.unlink()
