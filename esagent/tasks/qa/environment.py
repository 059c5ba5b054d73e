"""The environment of a question: its search tools, a few times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from esagent.core.episode import Task, ToolResult
from esagent.tasks.base import Split
from esagent.tools.base import Tool
from esagent.tools.registry import ToolEnvironment

SPLITS: tuple[Split, ...] = get_args(Split)

MAX_SEARCHES = 3
"""Searches of one episode; what is asked beyond them finds nothing."""


class SearchEnvironment(ToolEnvironment):
    """The search tools of one episode, which run `MAX_SEARCHES` times."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        super().__init__(tools)
        self._left = MAX_SEARCHES

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one search; one that finds nothing, or is no valid call, counts too."""
        if not self._left:
            return ToolResult(False, f"no more than {MAX_SEARCHES} searches; answer now")
        self._left -= 1
        return super().call(name, arguments)


def split_of(task: Task) -> Split:
    """The split of a task, as one of `SPLITS`."""
    return next(split for split in SPLITS if split == task.split)
