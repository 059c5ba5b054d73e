"""Values of tool arguments: from text or JSON to what the tool's schema asks for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "\"'"
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+(\.\d+)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t"}


def read_json(text: str) -> Any:
    """`json.loads` without NaN and infinities. Raises ValueError for everything that is not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def from_text(text: str, schema: Mapping[str, Any]) -> Any:
    """An argument written as bare or quoted text, as the type that `schema` names (none: number if it is one).

    Raises ValueError with a message that reads well after "argument 'x' ".
    """
    text = text.strip()
    kind = schema.get("type")
    if kind == "string":
        return unquote(text)
    if kind == "array":
        return _array(text, schema.get("items") or {})
    if kind in ("number", "integer", "boolean"):
        return from_json(_scalar(unquote(text)), schema)
    if not isinstance(kind, str):
        return unquote(text) if text[:1] in _QUOTES else _anything(text)
    try:
        return from_json(read_json(text), schema)
    except ValueError:
        raise ValueError(f"must be {_named(kind)}, got {shorten(text)}") from None


def from_json(value: Any, schema: Mapping[str, Any]) -> Any:
    """A JSON value held to the type that `schema` names; numbers and their texts are taken for each other.

    Raises ValueError like `from_text`.
    """
    kind = schema.get("type")
    if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if kind in ("number", "integer") and isinstance(value, str):
        value = _scalar(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "array" and isinstance(value, list):
        return [from_json(item, schema.get("items") or {}) for item in value]
    if not isinstance(kind, str) or _fits(value, kind):
        return value
    raise ValueError(f"must be {_named(kind)}, got {shorten(value)}")


def split_top(text: str, separator: str = ",") -> list[str]:
    """Parts of `text` between separators that stand outside quotes and brackets; an empty text has none."""
    if not text.strip():
        return []
    parts, start = [], 0
    for position, char, depth in walk(text):
        if char == separator and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return parts


def walk(text: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """Every character of `text` outside quotes with its position and the depth of brackets after it.

    A quote opens only where an argument may start, so the apostrophe of an unquoted word is a plain character.
    An unclosed quote is a plain character as well. The depth is -1 just after an unmatched closing bracket.
    """
    position, depth, before = start, 0, ""
    while position < len(text):
        char = text[position]
        if char in _QUOTES and before in ("", ",", "=", ":", "(", "[", "{"):
            end = _closing_quote(text, position)
            if end > position:
                position, before = end + 1, char
                continue
        depth += (char in _OPEN) - (char in _CLOSE)
        yield position, char, depth
        if not char.isspace():
            before = char
        position += 1


def unquote(text: str) -> str:
    """`text` without the one pair of quotes around it, escapes resolved; unchanged when it has none."""
    if len(text) > 1 and text[0] in _QUOTES and _closing_quote(text, 0) == len(text) - 1:
        return _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), text[1:-1])
    return text


def shorten(value: Any, limit: int = 40) -> str:
    """`value` for an error message: one line, quoted, at most `limit` characters of it."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= limit else text[:limit] + "...")


def _closing_quote(text: str, start: int) -> int:
    """Position of the quote that closes the one at `start`, -1 when there is none."""
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == text[start]:
            return position
        position += 1
    return -1


def _array(text: str, items: Mapping[str, Any]) -> list[Any]:
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if isinstance(value, list):
        return [from_json(item, items) for item in value]
    inner = unquote(text)
    if inner[:1] in ("[", "(") and inner[-1:] in ("]", ")"):
        inner = inner[1:-1]
    return [from_text(part, items) for part in split_top(inner)]


def _anything(text: str) -> Any:
    """JSON where it is that, else a number or the text itself."""
    try:
        return read_json(text)
    except ValueError:
        return _scalar(text)


def _scalar(text: str) -> Any:
    """Number or truth value written as text; the text itself when it is neither."""
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not _NUMBER.fullmatch(text) or len(text) > 300:
        return text
    plain = text.replace(",", "")
    number = float(plain)
    if not math.isfinite(number):
        return text
    return number if re.search(r"[.eE]", text) else int(plain)


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    types: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "number": (int, float),
        "integer": int,
        "array": list,
        "object": dict,
    }
    return kind not in ("boolean", "null") and isinstance(value, types.get(kind, object))


def _named(kind: str) -> str:
    return {"array": "a list", "integer": "a whole number", "object": "a JSON object"}.get(kind, f"a {kind}")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")
