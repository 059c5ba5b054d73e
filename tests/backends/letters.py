"""A task that any language model can do more or less well: write vowels. Tiny random models earn graded rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.agents.base import Run
from esagent.core.episode import Request, Score, Task, ToolResult, Trajectory, Turn


class LetterAgent:
    """Two modules in a row, the second of which reads what the first wrote."""

    modules = ("planner", "caller")

    def run(self, task: Task, env: LetterEnvironment) -> Run:
        first = Request("planner", f"\nTask: {task.prompt}", "Task: add\nPlan: look up\n", max_new_tokens=10, stop=())
        planned = yield first
        second = Request("caller", f"\n{planned.text}", "Task: add\nCall: calculator(2 + 3)\n", max_new_tokens=12)
        called = yield second
        turns = (Turn("planner", first.prompt, planned), Turn("caller", second.prompt, called))
        return Trajectory(turns, planned.text + called.text)


class LetterEnvironment:
    """Has no tools."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return ToolResult(False, f"unknown tool {name}")


class LetterFamily:
    """Reward: the share of vowels in both answers, so that any token that differs can show."""

    name = "letters"

    def tasks(self, split: str, seed: int, n: int) -> Sequence[Task]:
        return [Task(f"{split}-{i}", self.name, split, f"{split} {i} times {seed}") for i in range(n)]

    def env(self, task: Task) -> LetterEnvironment:
        return LetterEnvironment()

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        letters = trajectory.answer
        reward = sum(letter in "aeiou" for letter in letters) / max(1, len(letters))
        return Score(reward, {"planner": reward, "caller": reward})

    def gold(self, task: Task) -> Trajectory:
        return Trajectory((), "aeiou")

    def validate(self) -> list[str]:
        return []
