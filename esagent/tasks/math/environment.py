"""The Python tool of a mathematics episode: a sandbox that starts with the first episode, and a limit on calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.episode import ToolResult
from esagent.tools.base import Tool
from esagent.tools.python import Limits, Outcome, PythonSandbox, bwrap, make_sandbox, monty
from esagent.tools.python.tool import make_python
from esagent.tools.registry import ToolEnvironment

LIMITS = Limits(output_chars=2000)
"""Of one program."""


class LateSandbox:
    """A `PythonSandbox` that is not started before it is needed, nor carried along in a pickle.

    kind: of `make_sandbox`.
    """

    def __init__(self, kind: str) -> None:
        self.name = kind
        self._started: PythonSandbox | None = None

    def start(self) -> PythonSandbox:
        """Start it unless it runs. Raises ConfigError for its kind, EnvironmentFailure if there is none here."""
        self._started = self._started or make_sandbox(self.name, LIMITS)
        return self._started

    def run(self, code: str) -> Outcome:
        """See `PythonSandbox.run`."""
        return self.start().run(code)

    def close(self) -> None:
        """Stop it, if it runs; it may be started again."""
        if self._started:
            self._started.close()
        self._started = None

    def __reduce__(self) -> tuple[type[LateSandbox], tuple[str]]:
        return LateSandbox, (self.name,)


def no_sandbox() -> str:
    """What has to be installed before programs can run; "" when they can."""
    return monty.missing() if bwrap.missing() else ""


def python_tool(sandbox: PythonSandbox) -> Tool:
    """`python(code)` in `sandbox`."""
    return make_python(sandbox, LIMITS.output_chars)


class LimitedCalls(ToolEnvironment):
    """One episode's use of its tools: at most `most` calls, whatever the agent's own limit."""

    def __init__(self, tools: Mapping[str, Tool], most: int) -> None:
        super().__init__(tools)
        self._left = self._most = most

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool, if a call is left. Raises SandboxError when the sandbox itself fails."""
        if self._left == 0:
            return ToolResult(False, f"no call is left; there were {self._most}")
        self._left -= 1
        return super().call(name, arguments)
