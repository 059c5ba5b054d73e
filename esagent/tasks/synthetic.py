"""Tasks of the synthetic environment: a chain of modules must each do their part right (docs/synthetic.md).

A task is a name; how hard it is for a module follows from that name alone (`difficulty`), so that the same task is
equally hard for every member, arm and process. A task of a split and seed shares its name with no other one's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.chain import reward_table
from esagent.core.episode import Completion, Score, Task, ToolResult, Trajectory, Turn
from esagent.core.noise import key, uniform
from esagent.tasks.about import About
from esagent.tasks.base import Split

RIGHT, WRONG = "right", "wrong"
"""What a module writes."""


def difficulty(prompt: str, module: str) -> float:
    """How hard the task `prompt` is for `module`: uniform on [0, 1), independent over tasks and modules."""
    return float(uniform(key("difficulty", prompt, module), 1)[0])


class NoTools:
    """An environment without tools."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """There is no tool to run."""
        return ToolResult(False, f"there is no tool {name}")


class SyntheticFamily:
    """`modules`: the chain, in order. `graded`: the worth of a part of the way (core.chain).

    The signal of a module is 1 where it was right and 0 where it failed; those behind the first failure have none, for
    what they were given was wrong already.
    """

    name = "synthetic"
    about = About(
        summary="a chain of modules with known skills, without a language model",
        source="generated from a seed",
        licence="MIT, as esagent",
        splits={"train": "without end", "validation": "without end", "heldout": "without end"},
    )

    def __init__(self, modules: Sequence[str], graded: float) -> None:
        self._modules = tuple(modules)
        self._rewards = [float(reward) for reward in reward_table(len(self._modules), graded)]

    def tasks(self, split: Split, seed: int, n: int) -> list[Task]:
        """The first `n` tasks of a split."""
        names = [f"{split} {seed} {i}" for i in range(n)]
        return [Task(name.replace(" ", "-"), self.name, split, name) for name in names]

    def env(self, task: Task) -> NoTools:
        """Nothing to act on."""
        return NoTools()

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """r_k with the first k modules right."""
        written = {turn.module: turn.completion.text for turn in reversed(trajectory.turns)}
        signals: dict[str, float] = {}
        for module in self._modules:
            if module in written:
                signals[module] = float(written[module] == RIGHT)
            if signals.get(module) != 1.0:
                return Score(self._rewards[sum(map(int, signals.values()))], signals, module)
        return Score(1.0, signals, success=True)

    def gold(self, task: Task) -> Trajectory:
        """Every module right."""
        turns = tuple(Turn(module, task.prompt, Completion(RIGHT)) for module in self._modules)
        return Trajectory(turns, RIGHT)

    def validate(self) -> list[str]:
        """Gold earns 1, nothing earns 0."""
        (task,) = self.tasks("train", 0, 1)
        scores = self.score(task, self.gold(task)).reward, self.score(task, Trajectory((), "")).reward
        return [] if scores == (1.0, 0.0) else [f"gold and nothing earn {scores}, not 1 and 0"]
