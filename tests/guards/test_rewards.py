"""Rewards that do not tell members apart, and failures of the harness that are scored as rewards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Config, Guards, Shaping
from esagent.core.episode import Episode, Score, Task, Trajectory
from esagent.core.noise import key
from esagent.errors import InvalidRun
from esagent.guards.harness import harness, suspects
from esagent.guards.spread import IN_A_ROW, spread
from esagent.pools import make_pools
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import read_manifest
from esagent.runs.journal import read_journal
from esagent.tasks.jsonl import JsonlFamily
from esagent.tasks.toolbox.family import ToolboxFamily
from esagent.train import resume, train
from tests.helpers.guarded import looked, only, vector_subject
from tests.helpers.vector import EchoFamily, vector_config, vector_parts


class Flat(EchoFamily):
    """Gold and nothing are told apart; whatever a model answers earns the same."""

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        if trajectory.answer == task.prompt and not trajectory.turns[0].prompt:  # the gold one
            return Score(1.0, success=True)
        return Score(0.25 if trajectory.turns else 0.0)


class Dust(Flat):
    """Rewards that are equal but for the last digits of a sum."""

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        found = super().score(task, trajectory)
        wrong = key("dust", task.id, trajectory.answer, len(trajectory.turns)) / 2**64
        return replace(found, reward=found.reward * (1.0 - 1e-9 * wrong))


def run_with(family: Any, config: Config) -> tuple[dict[str, Any] | None, RunDirectory, str]:
    """(summary, run, how it ended) of a run with a broken family."""

    def build(config: Config):  # type: ignore[no-untyped-def]
        parts = vector_parts(config)
        return replace(parts, family=family, pools=make_pools(family, config.task, config.seed))

    summary, told = None, ""
    try:
        summary = train(config, build=build)
    except InvalidRun as error:
        told = str(error)
    (run,) = Path(config.runs_dir, config.name).iterdir()
    return summary, RunDirectory(run), told


def test_members_that_all_earn_the_same(tmp_path: Path) -> None:
    summary, run, told = run_with(Flat(), vector_config(tmp_path, steps=6))
    assert summary is None
    assert f"{IN_A_ROW} steps in a row" in told
    assert "guards=warn" in told
    assert len(read_journal(run.journal)) == IN_A_ROW


def test_with_warn_it_goes_on_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = replace(vector_config(tmp_path, steps=6), guards=Guards.warn)
    summary, run, _ = run_with(Flat(), config)
    assert summary is not None
    assert summary["steps"] == 6
    faults = [f for f in summary["guards"]["findings"] if f["level"] == "fault"]
    assert [(f["guard"], f["step"]) for f in faults] == [("spread", IN_A_ROW - 1)]
    assert caplog.text.count(f"{IN_A_ROW} steps in a row") == 1
    assert read_manifest(run)["guards"]["mode"] == "warn"
    again = resume(run.path, build=vector_parts)
    assert again["guards"] == summary["guards"]


def test_a_run_that_has_solved_its_tasks_goes_on_and_one_that_collapsed_does_not() -> None:
    config = vector_config("nowhere")

    def record(step: int, *rewards: float) -> dict[str, Any]:
        return {"step": step, "rewards": [[reward] for reward in rewards]}

    learned = [record(0, 0.0, 0.5), record(1, 0.5, 1.0)]
    solved = [*learned, *(record(step, 1.0, 1.0) for step in range(2, 6))]
    assert [f.level for f in spread(config, solved, 6)] == ["note"]
    assert list(spread(config, solved, 2)) == []
    collapsed = [*learned, *(record(step, 0.0, 0.0) for step in range(2, 6))]
    assert [f.level for n in (3, 4, 5) for f in spread(config, collapsed, n)] == ["note", "note", "fault"]
    failed = [record(step, float("nan"), 1.0) for step in range(4)]
    assert list(spread(config, failed, 4)) == []


def test_dust_that_shaping_makes_a_step_of(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=3)
    assert "rounding" in run_with(Dust(), config)[2]
    shaped = replace(config.algorithm, shaping=Shaping.zscore)
    assert "guard spread (step 0)" in run_with(Dust(), replace(config, name="z", algorithm=shaped))[2]


class JudgeDown(EchoFamily):
    """A scorer that takes the failure of its judge for a wrong answer, after `answers` right ones."""

    def __init__(self, answers: int = 0) -> None:
        super().__init__()
        self.answers = answers

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        self.answers -= 1
        if self.answers >= 0:
            return super().score(task, trajectory)
        return Score(0.0, reason="ConnectionError: connection refused by the judge")


def test_a_judge_that_is_down_from_the_start() -> None:
    found = only(looked(harness, vector_subject(family=JudgeDown())))
    assert found.figure == 1.0
    assert "connection refused" in found.cause
    assert looked(harness, vector_subject()) == []


def test_a_scorer_that_raises_on_gold() -> None:
    class Dead(EchoFamily):
        def score(self, task: Task, trajectory: Trajectory) -> Score:
            raise OSError("the sandbox died")

    assert "the sandbox died" in only(looked(harness, vector_subject(family=Dead()))).cause


def test_a_scorer_that_cannot_decide() -> None:
    class Coin(EchoFamily):
        def score(self, task: Task, trajectory: Trajectory) -> Score:
            self.broken += 1
            return Score(float(self.broken % 2))

    assert "scored twice" in only(looked(harness, vector_subject(family=Coin()))).cause


def test_a_judge_that_goes_down_during_the_run(tmp_path: Path) -> None:
    """Sound for the guard before the run, the first evaluations and half of the first step."""
    config = vector_config(tmp_path, steps=4)
    family = JudgeDown(answers=9 + 32 + 24 + 48 + 60)
    summary, _, told = run_with(family, config)
    assert summary is None
    assert "guard harness (step 0)" in told
    assert "connection refused" in told


def test_reasons_of_graders_are_no_failures_of_the_harness(tmp_path: Path) -> None:
    family = ToolboxFamily("hard")
    for task in family.tasks("train", 0, 12):
        scores = [family.score(task, Trajectory((), "")), family.score(task, Trajectory((), "no timeline"))]
        assert suspects([_episode(task, score) for score in scores]) == []
    said = "TimeoutError: the sandbox did not answer"
    task = family.tasks("train", 0, 1)[0]
    assert suspects([_episode(task, Score(0.0, reason=said))]) == [said]
    assert suspects([_episode(task, Score(0.0, reason=said, unscored=True))]) == []
    (tmp_path / "q.jsonl").write_text('{"question": "Error?", "answer": "ValueError"}\n')
    rows = JsonlFamily(tmp_path / "q.jsonl", shares=(1.0, 0.0, 0.0))
    (asked,) = rows.tasks("train", 0, 1)
    assert suspects([_episode(asked, rows.score(asked, Trajectory((), "KeyError")))]) == []


def _episode(task: Task, score: Score) -> Episode:
    return Episode(task, 0, Trajectory((), ""), score)
