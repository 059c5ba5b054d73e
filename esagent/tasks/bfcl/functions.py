"""From how the data describe a function to a `ToolSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.episode import ToolSpec

JSON_TYPES = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "any": "",
}
"""Names of types in the data, as JSON Schema names them; "" for any."""

_PREAMBLE = "Tool description: "


def tool_spec(described: Mapping[str, Any]) -> ToolSpec:
    """The tool of a described function, without what the descriptions of an API's functions all begin with."""
    text = " ".join(described["description"].split())
    return ToolSpec(described["name"], text.rpartition(_PREAMBLE)[2], _schema(described["parameters"]))


def _schema(described: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for key, value in described.items():
        if key == "type":
            if kind := JSON_TYPES[value]:
                schema["type"] = kind
        elif key == "items":
            schema["items"] = _schema(value)
        elif key == "properties":
            schema["properties"] = {name: _schema(part) for name, part in value.items()}
        elif key in ("description", "enum", "default", "required"):
            schema[key] = value.strip() if key == "description" else value
    return schema
