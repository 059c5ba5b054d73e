"""JSON lines: a file of one object a line, read whole, every flaw named by its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from esagent.errors import ConfigError

T = TypeVar("T")

_MOST_PROBLEMS = 5


def read_lines(path: Path, row: Callable[[int, Mapping[str, Any]], T]) -> list[tuple[int, T]]:
    """(line number, what `row` made of it) for every line of `path` that is not blank.

    row: takes the line's number and its object; raises ValueError saying what is wrong with it. Raises ConfigError
    naming the file when it cannot be read or holds no rows, and else every bad line, up to five.
    """
    found: list[tuple[int, T]] = []
    problems: list[str] = []
    for line, text in _texts(path):
        try:
            found.append((line, row(line, _object(text))))
        except ValueError as error:
            problems.append(f"{path}, line {line}: {error}")
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        raise ConfigError(*problems[:_MOST_PROBLEMS], *([f"{more} more bad rows"] if more > 0 else []))
    if not found:
        raise ConfigError(f"task.path: {path} holds no rows")
    return found


def field(row: Mapping[str, Any], *names: str) -> str:
    """The text under the first of `names` that the row has. Raises ValueError when it is missing, empty or no text."""
    name = next((name for name in names if name in row), names[0])
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        found = ", ".join(map(str, row)) or "nothing"
        raise ValueError(f"no text under {' or '.join(map(repr, names))}; it has {found}")
    text = str(value).strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the text under {name!r} holds half of a surrogate pair, which no model can read") from None
    return text


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    try:
        # Not splitlines: a text may hold other signs that end a line in Unicode. Some editors begin a file with a mark.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"task.path: cannot read {path}: {error}") from error
    return ((line, text) for line, text in enumerate(lines, start=1) if text.strip())


def _object(text: str) -> Mapping[str, Any]:
    try:
        row = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
