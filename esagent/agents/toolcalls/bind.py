"""From a tool's name and its raw arguments to a `ToolCall`; every problem becomes the call's error text."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from esagent.agents.toolcalls.values import shorten
from esagent.core.episode import ToolCall, ToolSpec

CUT = "the call was cut off at the token limit"
"""Error of a call that ended with the token budget: the model had no chance to finish it."""

Convert = Callable[[Any, Mapping[str, Any]], Any]


def bind(tool: ToolSpec, given: Mapping[str, Any], convert: Convert) -> ToolCall:
    """`given` checked against the tool's schema: no unknown argument, none missing, each of its type."""
    schemas: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    for key in given:
        if key not in schemas:
            return ToolCall(tool.name, error=f"{tool.name}: no argument {shorten(key)}; it takes {_listed(schemas)}")
    missing = [key for key in required if key not in given]
    if missing:
        return ToolCall(tool.name, error=f"{tool.name}: missing argument {_listed(missing)}")
    arguments = {}
    for key, schema in schemas.items():
        if key in given:
            try:
                arguments[key] = convert(given[key], schema)
            except ValueError as error:
                return ToolCall(tool.name, error=f"{tool.name}: argument {key!r} {error}")
    return ToolCall(tool.name, arguments)


def unknown(name: str, tools: Mapping[str, ToolSpec]) -> ToolCall:
    """The error for a tool that does not exist, naming the nearest that does."""
    if not tools:
        return ToolCall("", error="there are no tools in this task")
    near = difflib.get_close_matches(name[:60], tools, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"tools: {_listed(tools)}"
    return ToolCall("", error=f"no tool named {shorten(name)}; {hint}")


def _listed(names: Mapping[str, Any] | list[str]) -> str:
    return ", ".join(names) or "no arguments"
