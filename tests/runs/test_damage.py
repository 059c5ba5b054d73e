"""Every file of a run, damaged in every way: the run is refused, or goes on to the very result it would have had.

The table says which, and what the user is told. The same table, in words, stands in docs/run-directory.md.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Guards
from esagent.core.population import Update
from esagent.errors import ConfigError, Interrupted, RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from esagent.runs.journal import read_journal
from esagent.runs.lock import locked
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.vector import VectorBackend, vector_config, vector_parts


def truncated(file: Path, other: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flipped(file: Path, other: Path) -> None:
    """One bit, in the middle of a word: where a blank stands for a 0, a text may still say the same."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    in_words = (i for i in range(middle, len(data)) if data[i - 1 : i + 1].isalpha())
    data[next(in_words, middle)] ^= 0x10
    file.write_bytes(data)


def emptied(file: Path, other: Path) -> None:
    file.write_bytes(b"")


def deleted(file: Path, other: Path) -> None:
    file.unlink()


def foreign(file: Path, other: Path) -> None:
    file.write_bytes(other.read_bytes())


def torn(file: Path, other: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


DAMAGES = (truncated, flipped, emptied, deleted, foreign)


@dataclass(frozen=True)
class Refused:
    """No file is touched, and the error says this."""

    says: str


@dataclass(frozen=True)
class Mended:
    """The run ends as if nothing had been, with this among the warnings; no warning is expected for an empty one."""

    says: str


Outcome = Refused | Mended
LOST = Refused(r"journal.jsonl holds \d steps, but .* records are missing")
SKIPPED = Mended(r"step-000006\.safetensors is (skipped|damaged): its SHA-256")
NOTE = Mended(r"step-000006 is skipped: its note (cannot be read|is damaged or of another run)")
START = Mended(r"the snapshot of the start is missing or damaged and is written again")
ASIDE = Mended(r"jsonl\.zst is damaged or of another run")
ROWS = Mended(r"rows of \d steps were lost or changed")
AGAIN = Mended(r"summary\.json is damaged or not of this journal; it is made again")
CHANGED = Mended(r"metrics\.jsonl was changed after the run ended")
MANIFEST = Refused(r"manifest\.json is damaged")
CONFIG = Refused(r"config\.yaml is damaged|not those it was started with")
NOTHING = Mended("")


def same(outcome: Outcome, **others: Outcome) -> dict[str, Outcome]:
    """The outcome of every damage, but for those named."""
    return {damage.__name__: others.get(damage.__name__, outcome) for damage in DAMAGES}


TABLE: dict[tuple[str, str], dict[str, Outcome]] = {
    ("stopped", "config.yaml"): same(
        CONFIG,
        deleted=Refused(r"has no config\.yaml"),
        foreign=Refused("not those it was started with.*seed was 1, is 2"),
    ),
    ("stopped", "manifest.json"): same(
        MANIFEST,
        deleted=Refused(r"manifest\.json is missing"),
        foreign=Refused("journal.*line 1 of 6: it is not of this run"),
    ),
    ("stopped", "journal.jsonl"): same(
        LOST, flipped=Refused(r"journal\.jsonl, line \d of 6"), foreign=Refused("line 1 of 6: it is not of this run")
    )
    | {"torn": Mended(r"the last line is dropped .*; its step is done again")},
    ("stopped", "metrics.jsonl"): same(ROWS, flipped=Mended(r"metrics\.jsonl: ")),
    ("stopped", "episodes/step-000003.jsonl.zst"): same(ASIDE, deleted=Mended(r"step-000003\.jsonl\.zst is missing")),
    ("stopped", "episodes/eval-000004-pool.jsonl.zst"): same(ASIDE, deleted=Mended(r"-pool\.jsonl\.zst is missing")),
    ("stopped", "snapshots/step-000006.safetensors"): same(SKIPPED, deleted=Mended("is skipped: No such file")),
    ("stopped", "snapshots/step-000006.json"): same(
        NOTE, deleted=Mended("is skipped: it was never finished, or its note")
    ),
    # Every run of this world begins with the same vectors, so that another run's file is the same.
    ("stopped", "snapshots/step-000000.safetensors"): same(START, foreign=NOTHING),
    ("stopped", "snapshots/step-000000.json"): same(START),
    ("stopped", "run.lock"): same(NOTHING),
    ("stopped", "run.holder"): same(NOTHING),
    ("finished", "config.yaml"): same(CONFIG, deleted=Refused(r"has no config\.yaml")),
    ("finished", "manifest.json"): same(
        MANIFEST, deleted=Refused("is missing"), foreign=Refused("it is not of this run")
    ),
    ("finished", "journal.jsonl"): same(
        LOST, flipped=Refused(r"journal\.jsonl, line \d of 8"), foreign=Refused("line 1 of 8: it is not of this run")
    )
    | {"torn": Mended(r"the last line is dropped .*; its step is done again")},
    ("finished", "metrics.jsonl"): same(CHANGED),
    ("finished", "summary.json"): same(AGAIN, deleted=NOTHING),
    ("finished", "episodes/step-000003.jsonl.zst"): same(ASIDE, deleted=Mended(r"step-000003\.jsonl\.zst is missing")),
    ("finished", "snapshots/step-000006.safetensors"): same(SKIPPED, deleted=Mended("is damaged: No such file")),
    ("finished", "curve.svg"): same(NOTHING),
    ("finished", "curve.png"): same(NOTHING),
}
CASES = [(state, file, damage, outcome) for (state, file), row in TABLE.items() for damage, outcome in row.items()]


class Stopping(VectorBackend):
    """Interrupts itself in the sixth of eight steps."""

    def apply(self, update: Update) -> Any:
        if update.step == 5:
            signal.raise_signal(signal.SIGINT)
        return super().apply(update)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """State -> the run in it, and another one of the same kind with another seed."""
    made: dict[str, list[Path]] = {"stopped": [], "finished": []}
    for seed in (1, 2):
        for state, folders in made.items():
            config = replace(vector_config(tmp_path_factory.mktemp(state) / "runs"), seed=seed, guards=Guards.off)
            if state == "stopped":
                with pytest.raises(Interrupted):
                    train(config, build=lambda c: replace(vector_parts(c), backend=Stopping()))
            else:
                train(config, build=vector_parts)
            (run,) = list_runs(config.runs_dir)
            for name in ("run.lock", "run.holder"):
                (run.path / name).write_text(f"process 1 on host{seed}\n")
            folders.append(run.path)
    return {state: (folders[0], folders[1]) for state, folders in made.items()}


def told(run: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """What must come out equal."""
    names = ("digest", "selected_step", "steps", "pool", "validation", "heldout", "episodes", "tokens", "flops")
    evaluations = {
        (row["step"], row["split"]): (row["digest"], row["rewards"])
        for row in read_rows(run / "metrics.jsonl")
        if row["kind"] == "evaluation"
    }
    steps = [row["step"] for row in read_rows(run / "metrics.jsonl") if row["kind"] == "step"]
    records = [(r["digest"], r["rewards"], r["update"], r["credit"]) for r in read_journal(run / "journal.jsonl")]
    return {name: summary[name] for name in names} | {"evaluations": evaluations, "steps": steps, "records": records}


def files(run: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if name not in ("run.lock", "run.holder")}


@pytest.fixture(scope="module")
def undisturbed(runs: dict[str, tuple[Path, Path]]) -> dict[str, Any]:
    path, _ = runs["finished"]
    return told(path, resume(path, build=vector_parts))


@pytest.mark.parametrize(("state", "file", "damage", "outcome"), CASES, ids=[f"{s}-{f}-{d}" for s, f, d, _ in CASES])
def test_a_damaged_file(
    runs: dict[str, tuple[Path, Path]],
    undisturbed: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    state: str,
    file: str,
    damage: str,
    outcome: Outcome,
) -> None:
    original, other = runs[state]
    run = tmp_path / "runs" / original.parent.name / original.name
    shutil.copytree(original, run)
    globals()[damage](run / file, other / file)
    before = files(run)
    if isinstance(outcome, Refused):
        with pytest.raises((RunError, ConfigError)) as caught:
            resume(run, build=vector_parts)
        assert re.search(outcome.says, str(caught.value)), str(caught.value)
        assert files(run) == before
        return
    caplog.set_level(logging.WARNING)
    assert told(run, resume(run, build=vector_parts)) == undisturbed
    assert re.search(outcome.says, caplog.text), caplog.text
    if not outcome.says:
        assert caplog.text == ""
    assert (run / "curve.svg").exists()
    caplog.clear()
    assert told(run, resume(run, build=vector_parts)) == undisturbed
    lasting = "is missing" if "episodes" in file else outcome.says if "step-000006" in file else "$^"
    assert caplog.text == "" or re.search(f"{lasting}|{outcome.says or '$^'}", caplog.text), "it must be sound now"


def test_a_snapshot_of_another_run_is_not_believed(
    runs: dict[str, tuple[Path, Path]], undisturbed: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Both of its files replaced: they fit each other."""
    original, other = runs["stopped"]
    run = tmp_path / "runs" / original.parent.name / original.name
    shutil.copytree(original, run)
    for step in (0, 3, 4, 6):
        for suffix in ("safetensors", "json"):
            shutil.copy(other / "snapshots" / f"step-{step:06d}.{suffix}", run / "snapshots")
    assert told(run, resume(run, build=vector_parts)) == undisturbed
    assert caplog.text.count("its note is damaged or of another run") >= 4


def test_an_evaluation_and_its_episodes_of_another_run_are_not_believed(
    runs: dict[str, tuple[Path, Path]], undisturbed: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    original, other = runs["stopped"]
    run = tmp_path / "runs" / original.parent.name / original.name
    shutil.copytree(original, run)
    theirs = [line for line in (other / "metrics.jsonl").read_text().splitlines(True) if '"kind":"evaluation"' in line]
    ours = [line for line in (run / "metrics.jsonl").read_text().splitlines(True) if '"kind":"evaluation"' not in line]
    (run / "metrics.jsonl").write_text("".join(theirs + ours))
    for file in other.glob("episodes/eval-*"):
        shutil.copy(file, run / "episodes")
    assert told(run, resume(run, build=vector_parts)) == undisturbed
    assert "an evaluation of state 4 is damaged or of another run" in caplog.text


def test_a_run_that_is_in_use_is_refused(runs: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    original, _ = runs["stopped"]
    run = tmp_path / "runs" / "vector" / original.name
    shutil.copytree(original, run)
    before = files(run)
    with locked(RunDirectory(run)), pytest.raises(RunError, match=f"{run} is in use by process {os.getpid()} on"):
        resume(run, build=vector_parts)
    assert files(run) == before


def test_other_base_weights_are_refused(runs: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    original, _ = runs["stopped"]
    run = tmp_path / "runs" / "vector" / original.name
    shutil.copytree(original, run)

    def build(config: Any) -> Any:
        parts = vector_parts(config)
        return replace(parts, facts=replace(parts.facts, model_hash="another"))

    with pytest.raises(RunError, match="base weights with hash formula; those at hand have another"):
        resume(run, build=build)
