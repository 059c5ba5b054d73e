"""The training loop over a small world without a language model: it learns, resumes, stops, and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from esagent.assemble import combine
from esagent.config.schema import AllocationConfig, Config, Rule, Select
from esagent.core.population import Update
from esagent.errors import ConfigError, Interrupted, Preempted, RunError
from esagent.runs.journal import read_journal
from esagent.runs.metrics import read_rows
from esagent.runs.snapshots import list_snapshots
from esagent.train import resume, train
from tests.helpers.vector import MODULES, VectorBackend, vector_config, vector_parts


def run_of(config: Config) -> Path:
    (path,) = Path(config.runs_dir, config.name).iterdir()
    return path


def outcome(path: Path) -> list[tuple[str, object, object, object]]:
    """What must be equal, bit by bit, between two runs of one configuration; times may differ."""
    return [(r["digest"], r["rewards"], r["credit"], r["update"]) for r in read_journal(path / "journal.jsonl")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Path, dict]:
    config = vector_config(tmp_path_factory.mktemp("runs"))
    summary = train(config, build=vector_parts)
    return config, run_of(config), summary


def test_it_learns_on_pool_and_heldout(finished) -> None:
    _, _, summary = finished
    for split in ("pool", "heldout"):
        part = summary[split]
        assert part["gain"] == pytest.approx(part["trained"] - part["base"])
        assert part["gain"] > 0.2
        assert part["gain_interval"][0] > 0
        assert part["gain_interval"][0] <= part["gain"] <= part["gain_interval"][1]


def test_the_run_directory_is_complete_and_the_summary_is_on_disk(finished) -> None:
    config, path, summary = finished
    for name in ("config.yaml", "manifest.json", "journal.jsonl", "metrics.jsonl", "curve.svg", "curve.png"):
        assert (path / name).stat().st_size > 0
    assert json.loads((path / "summary.json").read_text()) == json.loads(json.dumps(summary))
    assert len(list((path / "episodes").glob("step-*.zst"))) == config.budget.steps
    assert json.loads((path / "manifest.json").read_text())["model_hash"] == "formula"
    assert 0 in [snapshot.step for snapshot in list_snapshots(path / "snapshots")]
    assert summary["selected_step"] in [snapshot.step for snapshot in list_snapshots(path / "snapshots")]


def test_journal_and_metrics_tell_what_happened(finished) -> None:
    config, path, _ = finished
    records = read_journal(path / "journal.jsonl")
    rows = [row for row in read_rows(path / "metrics.jsonl") if row["kind"] == "step"]
    assert [r["step"] for r in records] == [r["step"] for r in rows] == list(range(config.budget.steps))
    for record, row in zip(records, rows, strict=True):
        rewards = np.array(record["rewards"])
        assert rewards.shape == (12, 12)
        assert row["reward_mean"] == pytest.approx(rewards.mean())
        assert row["reward_std"] == pytest.approx(rewards.mean(axis=1).std())
        assert record["allocation"] == dict.fromkeys(MODULES, 3)
        assert len(set(record["tasks"])) == 12
        assert sum(record["credit"].values()) == pytest.approx(1)
        failed = sum(record["blamed"].values())
        assert failed == (rewards < 1).sum()
        # alpha is a length in units of sigma: the applied step has exactly that RMS, unless all of a block's pairs tied
        for name in MODULES:
            told = any(name in coefficient for _, coefficient in record["update"]["terms"])
            assert row["moved"][name] == pytest.approx(row["step_size"][name] if told else 0.0, rel=1e-5)
        assert 0 <= row["outside_share"] <= 1
        # ... and alpha falls linearly from 0.8 to 0.2; a step in which everything tied has length 0
        alpha = 0.8 - 0.6 * record["step"] / 7 if record["update"]["terms"] else 0.0
        assert row["step_size"] == pytest.approx(dict.fromkeys(MODULES, alpha * 0.4))
    assert rows[0]["step_size"]["finder"] == pytest.approx(0.8 * 0.4)


def test_tasks_of_an_epoch_are_drawn_without_replacement(finished) -> None:
    _, path, _ = finished
    tasks = [r["tasks"] for r in read_journal(path / "journal.jsonl")]
    for epoch in range(4):
        drawn = [*tasks[2 * epoch], *tasks[2 * epoch + 1]]
        assert len(set(drawn)) == 24
    assert tasks[0] != tasks[2]


def test_evaluations_are_periodic_and_heldout_is_never_used_to_choose(finished) -> None:
    _, path, summary = finished
    rows = [row for row in read_rows(path / "metrics.jsonl") if row["kind"] == "evaluation"]
    steps = {split: [r["step"] for r in rows if r["split"] == split] for split in ("pool", "validation", "heldout")}
    assert steps["pool"] == steps["validation"] == [0, 4, 8]
    assert steps["heldout"] == sorted({0, summary["selected_step"]})
    means = {r["step"]: r["mean"] for r in rows if r["split"] == "validation"}
    assert means[summary["selected_step"]] == max(means.values())


def test_the_chosen_state_is_the_one_that_was_reported(finished) -> None:
    _, path, summary = finished
    backend = VectorBackend()
    (chosen,) = [s for s in list_snapshots(path / "snapshots") if s.step == summary["selected_step"]]
    backend.load(chosen.path)
    assert backend.digest() == summary["digest"] == chosen.digest


def test_equal_seeds_give_equal_runs_and_other_seeds_do_not(finished, tmp_path: Path) -> None:
    config, path, _ = finished
    train(replace(config, runs_dir=str(tmp_path / "a")), build=vector_parts)
    assert outcome(run_of(replace(config, runs_dir=str(tmp_path / "a")))) == outcome(path)
    other = replace(config, runs_dir=str(tmp_path / "b"), seed=2)
    train(other, build=vector_parts)
    assert outcome(run_of(other)) != outcome(path)


class StoppingBackend(VectorBackend):
    """Sends this process a signal while a given update is applied, as a user or scheduler would in mid-step."""

    at, number = 3, signal.SIGINT

    def apply(self, update: Update):
        if update.step == self.at:
            os.kill(os.getpid(), self.number)
        return super().apply(update)


def stopping_parts(number: int):
    def build(config: Config):
        parts = vector_parts(config)
        backend = StoppingBackend()
        backend.number = number
        return replace(parts, backend=backend)

    return build


@pytest.mark.parametrize(
    ("number", "error", "code"),
    [(signal.SIGINT, Interrupted, 130), (signal.SIGTERM, Preempted, 75), (signal.SIGUSR2, Preempted, 75)],
)
def test_a_signal_stops_at_the_step_boundary_and_resume_gives_the_same_run(
    finished, tmp_path: Path, number: int, error: type[Exception], code: int
) -> None:
    config, path, summary = finished
    config = replace(config, runs_dir=str(tmp_path))
    handler = signal.getsignal(number)
    with pytest.raises(error, match="esagent resume") as caught:
        train(config, build=stopping_parts(number))
    assert caught.value.exit_code == code
    assert signal.getsignal(number) is handler
    stopped = run_of(config)
    assert len(read_journal(stopped / "journal.jsonl")) == StoppingBackend.at + 1
    assert not (stopped / "summary.json").exists()

    again = resume(stopped, build=vector_parts)
    assert outcome(stopped) == outcome(path)
    for name in ("digest", "selected_step", "pool", "heldout", "steps", "episodes", "flops"):
        assert again[name] == summary[name]
    assert [r["step"] for r in read_rows(stopped / "metrics.jsonl") if r["kind"] == "step"] == list(range(8))


def test_resuming_a_finished_run_only_returns_its_summary(finished) -> None:
    _, path, summary = finished
    before = (path / "metrics.jsonl").read_bytes()
    assert resume(path, build=vector_parts) == json.loads(json.dumps(summary))
    assert (path / "metrics.jsonl").read_bytes() == before


def test_resume_redoes_evaluations_that_were_lost(finished, tmp_path: Path) -> None:
    """metrics.jsonl is not fsynced: without it a stopped run still ends with the same result."""
    config, _, summary = finished
    config = replace(config, runs_dir=str(tmp_path))
    with pytest.raises(Interrupted):
        train(config, build=stopping_parts(signal.SIGINT))
    (run_of(config) / "metrics.jsonl").unlink()
    again = resume(run_of(config), build=vector_parts)
    for name in ("digest", "selected_step", "pool", "heldout"):
        assert again[name] == summary[name]


def test_momentum_survives_a_resume(tmp_path: Path) -> None:
    def config(folder: str) -> Config:
        made = vector_config(tmp_path / folder, steps=6)
        made.algorithm = replace(made.algorithm, rule=Rule.momentum, momentum=0.5)
        return made

    train(config("a"), build=vector_parts)
    with pytest.raises(Interrupted):
        train(config("b"), build=stopping_parts(signal.SIGINT))
    resume(run_of(config("b")), build=vector_parts)
    assert outcome(run_of(config("a"))) == outcome(run_of(config("b")))


def test_joint_allocation_last_state_and_no_steps(tmp_path: Path) -> None:
    config = vector_config(tmp_path / "joint", select=Select.last, evaluate_every=0)
    config.allocation = AllocationConfig("joint")
    summary = train(config, build=vector_parts)
    assert summary["selected_step"] == 8
    assert "validation" not in summary
    assert summary["pool"]["gain"] > 0.1

    still = train(vector_config(tmp_path / "still", steps=0), build=vector_parts)
    assert still["pool"]["gain"] == still["heldout"]["gain"] == 0
    assert still["selected_step"] == 0


def test_factors_of_what_is_not_searched_are_no_mistake(tmp_path: Path) -> None:
    """`agent=modular` brings some for its modules: a user's own agent, or space.modules, need not have them."""
    config = vector_config(tmp_path)
    config.sigma = replace(config.sigma, modules={"planner": 0.8, "finder": 2.0, "writer": 0.5})
    parts = vector_parts(config)
    assert parts.scales.factors == {"finder": 2.0, "writer": 0.5}
    fewer = combine(config, parts.agent, parts.family, parts.pools, VectorBackend(("finder",)), parts.facts)
    assert fewer.scales.factors == {"finder": 2.0}


def test_unscored_tasks_are_dropped_for_all_members(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=4)
    config.task.options = {"breaks": 32}
    train(config, build=vector_parts)
    records = read_journal(run_of(config) / "journal.jsonl")
    assert any(r["dropped"] == ["train-0"] for r in records)
    for record in records:
        assert set(record["dropped"]) == {"train-0"} & set(record["tasks"])
        assert np.array(record["rewards"]).shape == (12, 12 - len(record["dropped"]))


def test_a_passing_failure_of_the_harness_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """More than a tenth unscored: the step is done again, and when that works the run is as if nothing had been."""
    config = vector_config(tmp_path / "a", steps=2)
    train(config, build=vector_parts)
    flaky = replace(
        config, runs_dir=str(tmp_path / "b"), task=replace(config.task, options={"breaks": 4, "failures": 8})
    )
    train(flaky, build=vector_parts)
    assert "trying once more" in caplog.text
    assert outcome(run_of(config)) == outcome(run_of(flaky))


def test_a_lasting_failure_of_the_harness_ends_the_run_with_exit_1(tmp_path: Path) -> None:
    config = vector_config(tmp_path)
    config.task.options = {"breaks": 2}
    with pytest.raises(RunError, match="could not be scored") as caught:
        train(config, build=vector_parts)
    assert caught.value.exit_code == 1
    assert "could not be scored" in (run_of(config) / "error.log").read_text()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"task": {"options": {"overlap": True}}}, RunError, "validation-0.*also in pool"),
        ({"task": {"options": {"color": 1}}}, ConfigError, "color"),
        ({"budget": {"tasks_per_step": 33}}, ConfigError, "pool of 32"),
        ({"sigma": {"modules": {"fnder": 2.0}}}, ConfigError, "fnder"),
        ({"algorithm": {"name": "sgd"}}, ConfigError, "choose from es"),
        ({"allocation": {"name": "join"}}, ConfigError, "joint"),
        ({"sigma": {"warmup": 8}}, ConfigError, "warmup"),
    ],
)
def test_mistakes_leave_no_run_directory_behind(tmp_path: Path, change, error, says: str) -> None:
    config = vector_config(tmp_path / "runs")
    for group, values in change.items():
        setattr(config, group, replace(getattr(config, group), **values))
    with pytest.raises(error, match=says):
        train(config, build=vector_parts)
    assert not (tmp_path / "runs").exists()


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    """In a process of its own: the first signal waits for the step, the second does not."""
    code = f"""
import os, signal, time
from dataclasses import replace
from tests.helpers.vector import VectorBackend, vector_config, vector_parts
from esagent.train import train

class Slow(VectorBackend):
    def apply(self, update):
        print("applying", flush=True)
        time.sleep(60)

train(vector_config({str(tmp_path)!r}), build=lambda config: replace(vector_parts(config), backend=Slow()))
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "applying\n"
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in errors
    assert "Ctrl-C again" in errors


@pytest.mark.kill
@pytest.mark.parametrize("where", ["apply", "append", "write_snapshot"])
def test_a_killed_run_resumes_to_the_same_numbers(finished, tmp_path: Path, where: str) -> None:
    """SIGKILL in mid-step, between the metrics row and the journal record, and in a snapshot."""
    config, path, summary = finished
    code = f"""
import os, signal
from dataclasses import replace
from tests.helpers.vector import VectorBackend, vector_config, vector_parts
from esagent.runs.journal import Journal
from esagent.train import train

def dying(method, at):
    def call(*arguments):
        calls.append(1)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments)
    calls = []
    return call

backend = VectorBackend()
if {where!r} == "apply":
    backend.apply = dying(backend.apply, 6)
elif {where!r} == "write_snapshot":
    backend.save = dying(backend.save, 3)
else:
    append = dying(Journal.append, 6)
    Journal.append = lambda self, record: append(self, record)
train(vector_config({str(tmp_path)!r}), build=lambda config: replace(vector_parts(config), backend=backend))
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    killed = run_of(replace(config, runs_dir=str(tmp_path)))
    assert len(read_journal(killed / "journal.jsonl")) < config.budget.steps
    again = resume(killed, build=vector_parts)
    assert outcome(killed) == outcome(path)
    for name in ("digest", "selected_step", "pool", "heldout", "episodes", "flops"):
        assert again[name] == summary[name]
