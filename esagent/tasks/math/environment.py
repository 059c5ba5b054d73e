"""The Python tool of a mathematics episode: a sandbox that starts with the first call, and a limit on calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.episode import ToolResult, ToolSpec
from esagent.tools.base import MAX_TEXT, Parameter, Tool, ToolError
from esagent.tools.python import PythonSandbox, make_sandbox
from esagent.tools.registry import ToolEnvironment
from esagent.tools.values import described


class PythonTool:
    """`python(code)` in a sandbox of one kind, shared by all episodes of a family: no program sees another's state."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._sandbox: PythonSandbox | None = None
        self.tool = Tool(
            name="python",
            description="Run a Python program; print what you want to see.",
            parameters={"code": Parameter(described("string", "Python statements or one expression"), _code)},
            function=self._run,
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as shown to a model."""
        return self.tool.spec

    def start(self) -> None:
        """Start the sandbox unless it runs. Raises ConfigError for its kind, EnvironmentFailure if there is none."""
        self._sandbox = self._sandbox or make_sandbox(self._kind)

    def __reduce__(self) -> tuple[type[PythonTool], tuple[str]]:
        return PythonTool, (self._kind,)

    def _run(self, code: str) -> str:
        self.start()
        assert self._sandbox is not None
        outcome = self._sandbox.run(code)
        text = outcome.output.strip()
        if not outcome.ok:
            raise ToolError(text[-MAX_TEXT:] or outcome.reason)
        if not text:
            raise ToolError("the program printed nothing")
        return text[:MAX_TEXT]


class Calls(ToolEnvironment):
    """One episode's use of a tool: at most `most` calls, whatever the agent's own limit."""

    def __init__(self, tool: PythonTool, most: int) -> None:
        tool.start()
        super().__init__({tool.tool.name: tool.tool})
        self._left = self._most = most

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the tool, if a call is left. Raises SandboxError when the sandbox itself fails."""
        if self._left == 0:
            return ToolResult(False, f"no call is left; there were {self._most}")
        self._left -= 1
        return super().call(name, arguments)


def _code(value: Any) -> str:
    if not isinstance(value, str):
        raise ToolError("must be text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolError("holds half of a surrogate pair") from error
    return value
