"""A family, an environment and a backend small enough to see through, for tests of agents and rollout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from esagent.core.episode import Completion, Request, Score, Task, ToolResult, ToolSpec, Trajectory
from esagent.core.population import Perturbation

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
TOOLS = (ToolSpec("add", "Add two numbers.", NUMBERS), ToolSpec("times", "Multiply two numbers.", NUMBERS))


class Arithmetic:
    """Executes `add` and `times`; counts its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, arguments))
        a, b = arguments["a"], arguments["b"]
        return ToolResult(True, str(a + b if name == "add" else a * b))


class Sums:
    """`a + b` for growing numbers; the reward is 1 for the right answer."""

    name = "sums"

    def tasks(self, split: str, seed: int, n: int) -> Sequence[Task]:
        return [
            Task(f"{split}-{i}", self.name, split, f"Add {i} and 2.", TOOLS, {"answer": str(i + 2)}) for i in range(n)
        ]

    def env(self, task: Task) -> Arithmetic:
        return Arithmetic()

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        right = trajectory.answer == task.payload["answer"]
        return Score(float(right), success=right)

    def gold(self, task: Task) -> Trajectory:
        return Trajectory((), task.payload["answer"])

    def validate(self) -> list[str]:
        return []


class ScriptedBackend:
    """Answers every request by a function of it; keeps the batches it was given."""

    def __init__(self, answer: Callable[[Request], str | Completion], together: int | None = None) -> None:
        self.answer = answer
        self.together = together
        self.batches: list[list[Request]] = []

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        self.batches.append(list(requests))
        answers = [self.answer(request) for request in requests]
        return [Completion(answer) if isinstance(answer, str) else answer for answer in answers]


def solve(request: Request) -> str:
    """What a perfect model says to the modular agent about `Sums`."""
    number = request.prompt.split("Add ")[1].split(" and")[0]
    answers = {"planner": f" Add {number} and 2", "selector": " add", "caller": f" add({number}, 2)"}
    return answers.get(request.module, f" {int(number) + 2}")
