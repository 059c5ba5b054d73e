"""What a tool is: a name with typed parameters, a parser per parameter and a function over the parsed values.

A model's mistake never raises: a missing, extra, malformed or oversized argument becomes a `ToolResult(ok=False)` whose
text says what is wrong, which the agent gets to see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from esagent.core.episode import ToolResult, ToolSpec

MAX_TEXT = 300
"""Longest argument or result, in characters, unless a tool says otherwise."""

MAX_ITEMS = 100
"""Longest list argument, in items."""


class ToolError(Exception):
    """A mistake in a call; its text is shown to the agent. Never leaves `Tool.run`."""


@dataclass(frozen=True)
class Parameter:
    """One argument: its JSON Schema and the parser that turns what a model wrote into a comparable value.

    parse: raises ToolError. Equal parsed values mean the same argument ("5 " and 5, "km" and "kilometers").
    """

    schema: Mapping[str, Any]
    parse: Callable[[Any], Any]
    required: bool = True


@dataclass(frozen=True)
class Tool:
    """A tool executed for real.

    parameters: by name, in the order of positional arguments.
    function: takes the parsed values in that order (None for an absent optional one), returns the output text, raises
    ToolError.
    longest: result, in characters.
    """

    name: str
    description: str
    parameters: Mapping[str, Parameter]
    function: Callable[..., str]
    longest: int = MAX_TEXT

    @property
    def spec(self) -> ToolSpec:
        """The tool as shown to a model."""
        schema = {
            "type": "object",
            "properties": {name: dict(p.schema) for name, p in self.parameters.items()},
            "required": [name for name, p in self.parameters.items() if p.required],
            "additionalProperties": False,
        }
        return ToolSpec(self.name, self.description, schema)

    def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Execute one call. Every mistake of the caller is a `ToolResult(ok=False)`."""
        try:
            output = self.function(*self._values(arguments))
        except ToolError as error:
            return ToolResult(False, f"{self.name}: {error}")
        if len(output) > self.longest:
            return ToolResult(False, f"{self.name}: the result is longer than {self.longest} characters")
        return ToolResult(True, output)

    def meanings(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The parsed value of every argument that is valid by itself; the others are left out."""
        parsed = {}
        for name, parameter in self.parameters.items():
            try:
                if name in arguments:
                    parsed[name] = parameter.parse(arguments[name])
            except ToolError:
                continue
        return parsed

    def _values(self, arguments: Mapping[str, Any]) -> list[Any]:
        expected = ", ".join(self.parameters)
        for name in arguments:
            if name not in self.parameters:
                raise ToolError(f"unexpected argument {shorten(name)}; expected {expected}")
        values: list[Any] = []
        for name, parameter in self.parameters.items():
            given = arguments.get(name)
            if given is None or given == "":
                if parameter.required:
                    raise ToolError(f"missing argument {name}; expected {expected}")
                values.append(None)
                continue
            try:
                values.append(parameter.parse(given))
            except ToolError as error:
                raise ToolError(f"{name}: {error}") from error
        return values


def shorten(value: object) -> str:
    """A quoted value for an error text, cut at 40 characters."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # integers beyond the digit limit, deeply nested containers
        return "'...'"
    text = " ".join(text[:MAX_TEXT].split())
    return f"'{text[:37]}...'" if len(text) > 40 else f"'{text}'"
