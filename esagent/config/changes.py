"""Where two configurations differ, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MISSING = object()


def changes(config: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Dotted path -> {"value", "default"} of every setting of `config` that is not the default's.

    A setting that only one of the two has stands against None.
    """
    mine, theirs = _flat("", config), _flat("", default)
    return {
        path: {"value": mine.get(path), "default": theirs.get(path)}
        for path in dict.fromkeys([*mine, *theirs])
        if mine.get(path, _MISSING) != theirs.get(path, _MISSING)
    }


def _flat(prefix: str, value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in value.items():
        path = f"{prefix}{name}"
        if isinstance(item, Mapping) and item:
            found |= _flat(f"{path}.", item)
        elif not isinstance(item, Mapping):
            found[path] = item
    return found
