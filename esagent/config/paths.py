"""Dotted paths into the schema: which exist, and what type stands there."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, get_origin, get_type_hints

from esagent.config.schema import Config


@functools.cache
def schema_paths() -> dict[str, Any]:
    """Every path of the schema with its type, sections included: {"budget": BudgetConfig, "budget.steps": int, ...}."""
    return dict(_walk("", Config))


def free_prefix(path: str) -> str:
    """The free-form mapping that `path` is or lies in ("task.options" for task.options.size), or "" if in none."""
    for known, kind in schema_paths().items():
        if get_origin(kind) is dict and (path == known or path.startswith(known + ".")):
            return known
    return ""


def _walk(prefix: str, section: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(section)
    found: list[tuple[str, Any]] = []
    for item in dataclasses.fields(section):
        path, kind = f"{prefix}{item.name}", hints[item.name]
        found.append((path, kind))
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            found += _walk(path + ".", kind)
    return found
