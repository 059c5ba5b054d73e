"""Metrics of an evaluation, by hand."""

from __future__ import annotations

import math

import pytest

from esagent.core.episode import Episode, Score, Task, Trajectory
from esagent.outcome import Behaviour, metrics, rewards, signals
from esagent.stats.intervals import mean_interval, paired_gain

TASKS = ["a", "b", "c"]


def _episode(task: str, reward: float, sample: int | None = None, **signals: float) -> Episode:
    score = Score(reward, signals, success=reward == 1)
    return Episode(Task(task, "f", "heldout", task), -1, Trajectory((), ""), score, sample)


def _behaviour(greedy: list[float], sampled: list[list[float]]) -> Behaviour:
    return Behaviour(
        [_episode(task, reward, finder=reward) for task, reward in zip(TASKS, greedy, strict=True)],
        [_episode(t, r, i) for t, drawn in zip(TASKS, sampled, strict=True) for i, r in enumerate(drawn)],
    )


BASE = _behaviour([0.0, 0.5, 1.0], [[0, 0, 0, 0], [1, 0, 0, 0.5], [1, 1, 1, 1]])
TRAINED = _behaviour([1.0, 0.5, 1.0], [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])


def test_each_metric_is_its_definition() -> None:
    found = metrics({"base": BASE}, TASKS)
    means = {name: value["base"]["mean"] for name, value in found.items()}
    assert means == pytest.approx(
        {
            "greedy_reward": 0.5,
            "greedy_success": 1 / 3,
            "sampled_reward": (0 + 1.5 / 4 + 1) / 3,
            "pass@1": (0 + 1 / 4 + 1) / 3,
            "pass@2": (0 + 1 / 2 + 1) / 3,
            "pass@4": (0 + 1 + 1) / 3,
        }
    )
    assert all("gain" not in value for value in found.values())
    assert found["greedy_reward"]["base"]["interval"] == list(mean_interval([0.0, 0.5, 1.0])[1:])
    assert mean_interval([0.0, 0.0, 1.0]).low < 0 < 1 < mean_interval([0.0, 0.0, 1.0]).high
    assert found["greedy_success"]["base"]["interval"] == [0.0, 1.0]
    (alone,) = [v["base"]["interval"] for name, v in metrics({"base": BASE}, ["a"]).items() if name == "greedy_success"]
    assert all(math.isnan(bound) for bound in alone)  # one task says nothing about others


def test_the_gain_is_paired_per_task() -> None:
    found = metrics({"base": BASE, "trained": TRAINED}, TASKS)
    gain, low, high = paired_gain([0.0, 0.5, 1.0], [1.0, 0.5, 1.0])
    assert found["greedy_reward"]["gain"] == {"mean": gain, "interval": [low, high]}
    assert found["pass@2"]["gain"]["mean"] == pytest.approx(
        (1 - 1 / 6 - 1 / 2) / 3
    )  # 5/6, 0 and 1 against 0, 1/2 and 1


def test_tasks_that_do_not_count_are_left_out_everywhere() -> None:
    found = metrics({"base": BASE}, ["c"])
    assert found["sampled_reward"]["base"]["mean"] == 1.0
    assert rewards(BASE, ["b", "c"]) == {"greedy": [0.5, 1.0], "sampled": [[1, 0, 0, 0.5], [1, 1, 1, 1]]}
    assert signals({"base": BASE, "trained": TRAINED}, ["a"]) == {"finder": {"base": 0.0, "trained": 1.0}}


def test_without_samples_there_is_no_sampled_metric() -> None:
    greedy = Behaviour(BASE.greedy, [])
    assert list(metrics({"base": greedy}, TASKS)) == ["greedy_reward", "greedy_success"]
    assert rewards(greedy, TASKS) == {"greedy": [0.0, 0.5, 1.0]}


def test_a_module_that_one_agent_never_reached_has_no_signal_there() -> None:
    reached = Behaviour([_episode("a", 1.0, finder=1.0, writer=0.5)], [])
    missed = Behaviour([_episode("a", 0.0, finder=0.0)], [])
    found = signals({"base": missed, "trained": reached}, ["a"])
    assert found["writer"] == {"base": None, "trained": 0.5}
