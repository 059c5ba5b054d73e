"""The tools that ship, and the environment that executes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import ToolResult
from esagent.errors import ConfigError
from esagent.tools.base import Tool, shorten
from esagent.tools.calculator import CALCULATOR
from esagent.tools.convert import CONVERT
from esagent.tools.dates import DATE, DAYS, WEEKDAY
from esagent.tools.lists import LIST
from esagent.tools.lookup import Tables, make_lookup
from esagent.tools.text import TEXT

_STATELESS = {tool.name: tool for tool in (CALCULATOR, CONVERT, DAYS, DATE, WEEKDAY, TEXT, LIST)}

TOOL_NAMES = ("calculator", "convert", "days", "date", "weekday", "lookup", "text", "list")


def make_tools(names: Sequence[str] = TOOL_NAMES, tables: Tables | None = None) -> dict[str, Tool]:
    """Tools by name; `tables` is what `lookup` finds. Raises ConfigError for a name that does not exist."""
    known = {**_STATELESS, "lookup": make_lookup(tables or {})}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(*(f"tools: there is no tool {n!r}; there are {', '.join(TOOL_NAMES)}" for n in unknown))
    return {name: known[name] for name in names}


class ToolEnvironment:
    """Executes calls with a fixed set of tools. Stateless, so an episode cannot disturb another."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.tools = tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool. An unknown name or a bad argument is a `ToolResult(ok=False)`, never raised."""
        tool = self.tools.get(name)
        if tool is None:
            return ToolResult(False, f"there is no tool {shorten(name)}; there are {', '.join(self.tools)}")
        return tool.run(arguments)
