"""The seam between an agent and everything else: an episode is a coroutine."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, runtime_checkable

from esagent.core.episode import Completion, Request, Task, Trajectory, Turn
from esagent.tasks.base import Environment

Run = Generator[Request, Completion, Trajectory]
"""Yields requests, is sent completions, returns the finished trajectory."""


class Agent(Protocol):
    """Turns a task into requests and tool calls. Holds no state between episodes.

    modules: names of the parts that may own parameters, in the order in which an episode reaches them.
    """

    modules: tuple[str, ...]

    def run(self, task: Task, env: Environment) -> Run:
        """One episode. Broken model output becomes a tool error the agent sees; nothing a model writes may raise."""
        ...


@runtime_checkable
class Writer(Protocol):
    """An agent whose modules do not write just what stands in a gold turn."""

    def written(self, turn: Turn) -> str:
        """What the turn's module would have to write, as it is asked."""
        ...
