"""The seam between a task family and everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from esagent.core.episode import Score, Task, ToolResult, ToolSpec, Trajectory

Split = Literal["train", "validation", "heldout"]


class Environment(Protocol):
    """The world of one episode: executes tool calls for real. State, if any, lives and dies with the episode."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool. A model's mistake (unknown tool, bad argument) is a `ToolResult(ok=False)`, never raised."""
        ...


@dataclass(frozen=True)
class Message:
    """What a user says, and the tools on offer from then on."""

    text: str
    tools: tuple[ToolSpec, ...]


@runtime_checkable
class Dialogue(Protocol):
    """An environment whose user may go on after an answer; the task's prompt and tools are the first message.

    A trajectory holds the turns of all messages. A message ends with the turn that answers it: the first one without a
    call that is neither a planner's nor a selector's.
    """

    def reply(self, answer: str) -> Message | None:
        """What the user says to `answer`; None when the conversation is over."""
        ...


class TaskFamily(Protocol):
    """A source of tasks with its scorer.

    `tasks` is a pure function of its arguments: the first n tasks of (split, seed), the same in every process.
    Splits share no task. `score` raises only when the harness itself fails; the rollout then marks it `unscored`.
    """

    name: str

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` tasks of a split. Raises ConfigError when the family has fewer, naming how many it has."""
        ...

    def env(self, task: Task) -> Environment:
        """A fresh environment for one episode of `task`."""
        ...

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Score a finished episode."""
        ...

    def gold(self, task: Task) -> Trajectory:
        """A fully right trajectory for `task`, its tool calls really executed; scores exactly 1."""
        ...

    def validate(self) -> list[str]:
        """Self-check over every template: gold scores 1, empty and junk score 0. Returns the problems found."""
        ...
