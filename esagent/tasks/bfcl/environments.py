"""The worlds of an episode: one question, whose functions nobody implements, or a conversation over simulated APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import ToolResult, ToolSpec
from esagent.tasks.base import Message
from esagent.tasks.bfcl.dialogues import offered
from esagent.tasks.bfcl.simulators import Simulators
from esagent.tools.base import shorten

TAKEN = "done"
"""Result of a well-formed call of a function that has no implementation: what it would give is not part of the data."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
}


class QuestionEnvironment:
    """Takes every call that fits the description of a function on offer. Holds no state."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Check one call. An unknown name or a bad argument is a `ToolResult(ok=False)`, never raised."""
        flaw = flaw_of(self._tools, name, arguments)
        return ToolResult(False, flaw) if flaw else ToolResult(True, TAKEN)


class DialogueEnvironment:
    """Runs calls on simulated APIs of its own, and says what the user says next."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self._payload = payload
        self._at = 0
        self.simulators = Simulators(payload["apis"], payload["config"], payload["long"])

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one function that is on offer. A mistake of the caller is a `ToolResult(ok=False)`, never raised."""
        flaw = flaw_of({tool.name: tool for tool in self.tools}, name, arguments)
        return ToolResult(False, flaw) if flaw else self.simulators.call(name, arguments)

    def reply(self, answer: str) -> Message | None:
        """The next message, whatever the answer was; None after the last."""
        self._at += 1
        messages = self._payload["messages"]
        if self._at >= len(messages):
            return None
        return Message(messages[self._at]["text"], self.tools)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Those on offer now; after the last message, those of it."""
        return offered(self._payload, min(self._at, len(self._payload["messages"]) - 1))


def flaw_of(tools: Mapping[str, ToolSpec], name: str, arguments: Mapping[str, Any]) -> str:
    """Why a call does not fit the description of a function on offer; "" when it does."""
    tool = tools.get(name)
    if tool is None:
        return f"there is no tool {shorten(name)}"
    properties = tool.parameters["properties"]
    for key, value in arguments.items():
        if key not in properties:
            return f"{name}: unexpected argument {shorten(key)}; expected {', '.join(properties)}"
        if not _fits(value, properties[key]):
            return f"{name}: {key} must be of type {properties[key]['type']}"
    missing = [key for key in tool.parameters.get("required", ()) if key not in arguments]
    return f"{name}: missing argument {missing[0]}" if missing else ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value has the type of its JSON Schema, items of lists too."""
    kind = schema.get("type")
    if kind is None:
        return True
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    if kind == "array":
        return isinstance(value, (list, tuple)) and all(_fits(item, schema.get("items", {})) for item in value)
    return isinstance(value, _TYPES[kind])
