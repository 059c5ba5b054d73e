"""JSON as runs write it: plain values, numbers exact, every line valid JSON for any reader.

Floats keep all their bits (`repr` round trip) and integers any size (64-bit seeds). JSON has no NaN or infinity, so
the lossless form writes `{"float": "nan"}` and the form for readers writes null.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np

_TAG = "float"
_NONFINITE = ("nan", "inf", "-inf")


def plain(value: Any, *, lossless: bool = False) -> Any:
    """`value` as dicts with string keys, lists, strings, numbers, booleans and None.

    Takes dataclasses, mappings, sequences, sets, enums, paths and numpy scalars and arrays. Raises TypeError naming the
    type of anything else. Numbers that are not finite become None, or `{"float": "nan"}` when `lossless`.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or (isinstance(value, bool | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return plain(value.value, lossless=lossless)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {_TAG: repr(float(value))} if lossless else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), lossless=lossless) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v, lossless=lossless) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(v, lossless=lossless) for v in value)
    if isinstance(value, list | tuple):
        return [plain(v, lossless=lossless) for v in value]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def canonical(value: Any) -> str:
    """One line, sorted keys, no spaces, ASCII: equal values give equal bytes. `value` must be plain."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def pretty(value: Any) -> str:
    """Indented JSON with a final newline, keys in the order given, for people and other programs."""
    return json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def parse(text: str | bytes) -> Any:
    """The value that `text` is JSON of. Raises ValueError for all else: NaN and infinities, and nesting without end."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def restore(value: Any) -> Any:
    """Undo the lossless form: `{"float": "nan"}` becomes nan again, everything else stays as it is."""
    if isinstance(value, dict):
        if value.keys() == {_TAG} and value[_TAG] in _NONFINITE:
            return float(value[_TAG])
        return {k: restore(v) for k, v in value.items()}
    if isinstance(value, list):
        return [restore(v) for v in value]
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
