"""python(code): a program that a model wrote, run in a sandbox."""

from __future__ import annotations

import re
from typing import Any

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.python.base import PythonSandbox
from esagent.tools.values import described

LONGEST_LINE = 400
"""Characters that a failure may add to the printed text."""

NOTHING = "(the program printed nothing)"

_FENCE = re.compile(r"\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)


def program(value: Any) -> str:
    """A program from what a model wrote: without the Markdown fence around it, without trailing space.

    Raises ToolError for what is no text.
    """
    if not isinstance(value, str):
        raise ToolError(f"{shorten(value)} is not a program")
    fenced = _FENCE.fullmatch(value)
    return (fenced[1] if fenced else value).rstrip()


def make_python(sandbox: PythonSandbox, output_chars: int) -> Tool:
    """The tool over a sandbox, which the caller closes.

    output_chars: of the sandbox's limits. A program's failure is a `ToolResult(ok=False)` with what it printed and the
    reason in the last line; SandboxError passes through `Tool.run`, as the model is not to blame.
    """

    def run(code: str) -> str:
        outcome = sandbox.run(code)
        if not outcome.ok:
            raise ToolError(outcome.output)
        return outcome.output.rstrip("\n") or NOTHING

    return Tool(
        name="python",
        description="Run a Python program. Returns what it prints and the value of its last line.",
        parameters={"code": Parameter(described("string", "the program"), program)},
        function=run,
        longest=output_chars + LONGEST_LINE,
    )
