"""Calls written as JSON: bare objects or lists of them, and the bodies of Hermes/Qwen `<tool_call>` blocks.

Shapes: {"name", "arguments"} (Hermes, Qwen), {"name", "parameters"} (Llama), either of them under "function" (OpenAI),
where "arguments" may be a string that holds JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from esagent.agents.toolcalls.bind import CUT, bind, unknown
from esagent.agents.toolcalls.values import from_json, read_json, shorten
from esagent.core.episode import ToolCall, ToolSpec

_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: read_json(name))


def read_objects(text: str, tools: Mapping[str, ToolSpec], cut: bool) -> list[ToolCall]:
    """The calls of all JSON values in `text`, which holds nothing else but separators; the first flaw ends it."""
    calls: list[ToolCall] = []
    rest = text.lstrip(" \t\r\n;,")
    while rest:
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            calls.append(ToolCall("", error=CUT if cut else f"not a valid JSON call: {shorten(rest)}"))
            break
        calls.extend(_call(item, tools) for item in _flat(value))
        rest = rest[end:].lstrip(" \t\r\n;,")
    return calls


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    else:
        yield value


def _call(value: Any, tools: Mapping[str, ToolSpec]) -> ToolCall:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ToolCall("", error=f"a call needs a name and arguments, got {shorten(value)}")
    tool = tools.get(value["name"].strip())
    if tool is None:
        return unknown(value["name"], tools)
    keys = [key for key in ("arguments", "parameters") if value.get(key) is not None]
    if not keys and not tool.parameters.get("properties"):
        return ToolCall(tool.name)
    if len(keys) != 1:
        problem = "both arguments and parameters are given" if keys else "the call has no arguments"
        return ToolCall(tool.name, error=f"{tool.name}: {problem}")
    given = value[keys[0]]
    if isinstance(given, str):
        try:
            given = read_json(given)
        except ValueError:
            return ToolCall(tool.name, error=f"{tool.name}: arguments are not valid JSON: {shorten(given)}")
    if not isinstance(given, dict):
        return ToolCall(tool.name, error=f"{tool.name}: arguments must be a JSON object, got {shorten(given)}")
    return bind(tool, given, from_json)
