"""What commands print: data to standard output, and nothing else there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, redirect_stdout
from typing import Any

_WIDE = 120
_NARROW = 72  # tables lose whole columns below it; longer lines are wrapped by the terminal


def print_json(data: Mapping[str, Any]) -> None:
    """Exactly one JSON object on one line; numbers that are not finite become null, as JSON has no word for them."""
    unicode = "utf" in (sys.stdout.encoding or "utf-8").lower()
    sys.stdout.write(json.dumps(_finite(data), ensure_ascii=not unicode, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def only_data() -> AbstractContextManager[Any]:
    """Within: what code of a user prints goes to standard error, for standard output belongs to data."""
    return redirect_stdout(sys.stderr)


def show_summary(summary: Mapping[str, Any], *, as_json: bool) -> None:
    """The outcome of a run: one JSON object, or a table for people."""
    if as_json:
        print_json(summary)
        return
    from esagent.report.console import print_summary

    print_summary(summary)


def to_terminal(*parts: Any) -> None:
    """Print rich renderables on standard output; where that is no terminal, lines are as long as they need to be."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    width = max(console.width, _NARROW) if console.is_terminal else _WIDE
    console = Console(highlight=False, soft_wrap=True, width=width)
    for part in parts:
        console.print(part)
