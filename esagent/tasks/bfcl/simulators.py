"""Simulated APIs of one conversation: fresh instances, and parsed calls sent to them by name.

Nothing that a model wrote is evaluated as code: a call is a name and plain values, the name must be one of the API's
described functions, and the values are bounded, for some functions would compute for ever on large ones (`power`).
Instances share nothing with those of another conversation; settings of number libraries that a function changes for the
whole process (`square_root`, `logarithm`) are put back after the call.
"""

from __future__ import annotations

import copy
import decimal
import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath

from esagent.core.episode import ToolResult
from esagent.tasks.bfcl.package import APIS, read_rows, simulator
from esagent.tools.base import shorten

MAX_NUMBER, MAX_EXPONENT, MAX_TEXT, MAX_ITEMS, MAX_DEPTH = 10**15, 1000, 10_000, 1000, 8
"""Largest number and exponent or count of digits; longest text; most items of a list; deepest nesting."""

_EXPONENTS = ("exponent", "precision", "decimal_places")
_STATELESS = ("MathAPI",)


@functools.cache
def described(api: str) -> Mapping[str, Mapping[str, Any]]:
    """The functions of `api` by name, as the data describe them."""
    return {row["name"]: row for row in read_rows(f"multi_turn_func_doc/{APIS[api]}.json")}


class Simulators:
    """One instance per API, set up from `config` (API -> its scenario).

    long: outputs are padded with much that does not matter, as in the long-context conversations.
    """

    def __init__(self, apis: Sequence[str], config: Mapping[str, Any], long: bool = False) -> None:
        self._instances = {api: simulator(api)() for api in apis}
        for api, instance in self._instances.items():
            if api not in _STATELESS:
                instance._load_scenario(copy.deepcopy(config.get(api, {})), long_context=long)
        self._owner = {name: api for api in apis for name in described(api)}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one function. An unknown name, a bad or too large argument is a `ToolResult(ok=False)`, never raised."""
        api = self._owner.get(name)
        if api is None:
            return ToolResult(False, f"there is no function {shorten(name)}")
        large = next((key for key, value in arguments.items() if not _bounded(key, value)), None)
        if large is not None:
            return ToolResult(False, f"{name}: {shorten(large)} is larger than this simulation takes")
        method = getattr(self._instances[api], name)
        try:
            with decimal.localcontext(), mpmath.workdps(mpmath.mp.dps):
                return ToolResult(True, _text(method(**copy.deepcopy(dict(arguments)))))
        except Exception as error:  # whatever a simulator stumbles over, it is the call's fault
            return ToolResult(False, f"{name}: {' '.join(str(error).split())[:200] or type(error).__name__}")

    def state(self) -> dict[str, dict[str, Any]]:
        """The public attributes of every instance."""
        return {
            api: {name: value for name, value in vars(instance).items() if not name.startswith("_")}
            for api, instance in self._instances.items()
        }


def holds(outputs: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether every one of the `wanted` outputs is among `outputs`, each as often."""
    return not Counter(wanted) - Counter(outputs)


def _text(result: Any) -> str:
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result) if isinstance(result, dict) else str(result)
    except (TypeError, ValueError):
        return str(result)


def _bounded(key: str, value: Any, depth: int = 0) -> bool:
    if isinstance(value, (int, float)):
        return abs(value) <= (MAX_EXPONENT if key in _EXPONENTS else MAX_NUMBER)
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, (list, tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return len(value) <= MAX_ITEMS and depth < MAX_DEPTH and all(_bounded(key, item, depth + 1) for item in items)
    return value is None
