"""Calls written like Python: `name(value, key=value)`, quotes optional."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from esagent.agents.toolcalls.bind import CUT, bind, unknown
from esagent.agents.toolcalls.values import from_text, split_top, walk
from esagent.core.episode import ToolCall, ToolSpec

_HEAD = re.compile(r"([A-Za-z_][\w.\-]*)\(")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.DOTALL)


def read_pythonic(text: str, tools: Mapping[str, ToolSpec], cut: bool) -> list[ToolCall]:
    """Every call in `text`, in order. A known name counts anywhere, an unknown one only at the very beginning."""
    calls: list[ToolCall] = []
    position = 0
    while head := _HEAD.search(text, position):
        position = head.end()
        name = head[1]
        if name not in tools:
            if not calls and not text[: head.start()].strip(" \n\t`["):
                calls.append(unknown(name, tools))
            continue
        end = next((at for at, _, depth in walk(text, position) if depth < 0), -1)
        if end < 0:
            calls.append(ToolCall(name, error=CUT if cut else f"{name}: the closing parenthesis is missing"))
            break
        if text[end] == ")":
            calls.append(_call(tools[name], text[position:end]))
        else:
            calls.append(ToolCall(name, error=f"{name}: {text[end]!r} closes nothing"))
        position = end + 1
    return calls


def _call(tool: ToolSpec, inside: str) -> ToolCall:
    schemas: Mapping[str, Any] = tool.parameters.get("properties", {})
    given: dict[str, Any] = {}
    positional: list[str] = []
    for part in split_top(inside):
        match = _KEYWORD.fullmatch(part)
        if not match:
            if given:
                return ToolCall(tool.name, error=f"{tool.name}: a positional argument follows a keyword argument")
            positional.append(part)
        elif match[1] in given:
            return ToolCall(tool.name, error=f"{tool.name}: argument {match[1]!r} is given twice")
        else:
            given[match[1]] = match[2]
    if len(schemas) == 1 and positional and not given:
        positional = [inside]
    positional = _gather(positional, schemas)
    if len(positional) > len(schemas):
        takes = f"takes {len(schemas)} arguments ({', '.join(schemas)}), got {len(positional)}"
        return ToolCall(tool.name, error=f"{tool.name}: {takes}")
    texts = dict(zip(schemas, positional, strict=False))
    if twice := [key for key in texts if key in given]:
        return ToolCall(tool.name, error=f"{tool.name}: argument {twice[0]!r} is given twice")
    return bind(tool, texts | given, from_text)


def _gather(parts: list[str], schemas: Mapping[str, Any]) -> list[str]:
    """Surplus positional arguments go to the one parameter that takes a list, if there is one: f(3, 1, 2)."""
    surplus = len(parts) - len(schemas)
    lists = [index for index, schema in enumerate(schemas.values()) if schema.get("type") == "array"]
    if surplus <= 0 or len(lists) != 1:
        return parts
    start, end = lists[0], lists[0] + surplus + 1
    return [*parts[:start], ", ".join(parts[start:end]), *parts[end:]]
