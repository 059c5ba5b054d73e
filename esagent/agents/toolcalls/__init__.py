"""Tool calls in model text, in every common way of writing them.

    name(value, key=value)                                                     text models
    {"name": ..., "arguments": {...}} and lists of them                        bare JSON, Llama ("parameters"), OpenAI
    <tool_call>{"name": ..., "arguments": {...}}</tool_call>                   Hermes, Qwen2.5, Qwen3
    <tool_call><function=name><parameter=key>value</parameter></function></tool_call>   Qwen3-Coder, Qwen3.5

Nothing here raises on any text: a broken call is a `ToolCall` with an `error`, which an agent shows to its model. What
is broken is never repaired by guessing: invalid arguments do not become empty ones, two calls do not become the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from esagent.agents.toolcalls.bind import CUT
from esagent.agents.toolcalls.jsonic import read_objects
from esagent.agents.toolcalls.pythonic import read_pythonic
from esagent.agents.toolcalls.values import shorten
from esagent.agents.toolcalls.xmlic import read_tagged
from esagent.core.episode import Completion, ToolCall, ToolSpec

__all__ = ["CUT", "parse_call", "parse_calls", "visible_text"]

_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_FENCE = re.compile(r"^```[\w-]*\n|\n?```\s*$|<\|python_tag\|>")
_JSON_CALL = re.compile(r"(?:\[\s*)?\{\s*\"(?:name|function|type|id|arguments|parameters)\"")


def parse_calls(completion: Completion, tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """Every call in a completion, in order, broken ones included; () when the text does not try to call anything."""
    text = visible_text(completion.text)
    known = {tool.name: tool for tool in tools}
    cut = completion.cut
    if "<tool_call>" in text:
        return tuple(call for block in _BLOCK.finditer(text) for call in _block(block[1], known, cut))
    if "<function=" in text:
        return tuple(read_tagged(text, known, cut))
    bare = _FENCE.sub("", text).strip()
    start = _JSON_CALL.search(bare)
    if start and not read_pythonic(bare[: start.start()], known, cut):
        return tuple(read_objects(bare[start.start() :], known, cut))
    return tuple(read_pythonic(bare, known, cut))


def parse_call(completion: Completion, tools: Sequence[ToolSpec]) -> ToolCall:
    """The one call of a completion. None, or more than one, is an error: an episode runs one call per turn."""
    calls = parse_calls(completion, tools)
    if len(calls) == 1:
        return calls[0]
    if calls:
        return ToolCall("", error=f"{len(calls)} calls were written where one is allowed; none was run")
    if completion.cut:
        return ToolCall("", error=CUT)
    return ToolCall("", error=f"no tool call in {shorten(visible_text(completion.text))}")


def visible_text(text: str) -> str:
    """`text` without the reasoning that some models put before their answer (`<think>...</think>`)."""
    if "</think>" in text:
        return text.rpartition("</think>")[2].strip()
    return text.partition("<think>")[0].strip()


def _block(inside: str, tools: Mapping[str, ToolSpec], cut: bool) -> list[ToolCall]:
    """The calls of one `<tool_call>` block; an empty block is a broken call, not a missing one."""
    calls = read_tagged(inside, tools, cut) if "<function=" in inside else read_objects(inside, tools, cut)
    return calls or [ToolCall("", error=CUT if cut else "the tool call is empty")]
