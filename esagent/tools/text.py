"""text(operation, string, letter): edit a text, or count in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.values import choice, described, text

OPERATIONS: dict[str, Callable[[str], str]] = {
    "reverse": lambda string: string[::-1],
    "upper": str.upper,
    "length": lambda string: str(len(string)),
}


def _letter(value: Any) -> str:
    letter = text(value).casefold()
    if len(letter) != 1:
        raise ToolError(f"{shorten(value)} is not one letter")
    return letter


def _edit(operation: str, string: str, letter: str | None) -> str:
    if operation == "count":
        if letter is None:
            raise ToolError("missing argument letter; count needs one")
        return str(string.casefold().count(letter))
    if letter is not None:
        raise ToolError(f"unexpected argument letter; {operation} takes none")
    return OPERATIONS[operation](string)


TEXT = Tool(
    name="text",
    description="Reverse a text, write it in upper case, or count its letters.",
    parameters={
        "operation": choice([*OPERATIONS, "count"]),
        "string": Parameter(described("string", "the text"), text),
        "letter": Parameter(described("string", "the letter to count; for count only"), _letter, required=False),
    },
    function=_edit,
)
