"""A training step hands the strategy the group of every task that was kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from esagent.algorithms.base import Strategy
from esagent.core.episode import Task
from esagent.core.population import Population, Update
from esagent.tasks.toolbox.family import ToolboxFamily
from esagent.train import train
from tests.helpers.vector import vector_config, vector_parts


@dataclass
class Listening:
    """A strategy that notes the groups it is told."""

    strategy: Strategy
    heard: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def ask(self, *arguments: Any) -> Population:
        return self.strategy.ask(*arguments)

    def tell(self, population: Population, rewards: np.ndarray, **settings: Any) -> Update:
        self.heard.append((rewards.shape[1], tuple(settings["groups"])))
        return self.strategy.tell(population, rewards, **settings)


def test_every_kept_task_has_its_group(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=2)
    config.task.options = {"breaks": 20}
    listening: list[Listening] = []

    def build(settings):
        parts = vector_parts(settings)
        listening.append(Listening(parts.strategy))
        return replace(parts, strategy=listening[-1])

    train(config, build=build)
    heard = listening[0].heard
    assert len(heard) == 2
    assert all(columns == len(groups) == len(set(groups)) for columns, groups in heard)
    assert any(columns < config.budget.tasks_per_step for columns, _ in heard)  # a task was dropped
    assert all(name.startswith("train-") for _, groups in heard for name in groups)


def test_a_task_is_of_its_kind_or_its_own() -> None:
    assert Task("id", "f", "train", "?").group == "id"
    assert Task("id", "f", "train", "?", kind="sum").group == "sum"
    tasks = ToolboxFamily().tasks("train", 0, 12)
    assert [task.group for task in tasks] == [" ".join(task.payload["template"]) for task in tasks]
    assert 1 < len({task.group for task in tasks}) < 12
