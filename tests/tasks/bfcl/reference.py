"""The checker of the bfcl-eval package itself, to hold ours to; imported here and nowhere else.

Its module of model settings asks for every vendor's library, and is stood in for.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

SETTINGS = "bfcl_eval.constants.model_config"
_numbers = count()

Call = Mapping[str, Any]


@contextmanager
def _settings() -> Iterator[None]:
    module = types.ModuleType(SETTINGS)
    plain = types.SimpleNamespace(underscore_to_dot=False)
    module.MODEL_CONFIG_MAPPING = defaultdict(lambda: plain)  # type: ignore[attr-defined]
    sys.modules[SETTINGS] = module
    try:
        yield
    finally:
        del sys.modules[SETTINGS]


with _settings():
    _ast = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
_turns = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
_PYTHON = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON


def passes(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Sequence[Any], category: str
) -> bool:
    """Its verdict on the calls of a single question; what it stumbles over does not pass."""
    written = [{call["name"]: dict(call["arguments"])} for call in calls]
    try:
        return bool(_ast.ast_checker(list(functions), written, list(answers), _PYTHON, category, "any")["valid"])
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def passes_dialogue(payload: Mapping[str, Any], made: Sequence[Sequence[Call]]) -> bool:
    """Its verdict on the calls made at every message. It keeps its simulators for good, so each gets a new name."""
    wanted = [[_written(call) for call in message["calls"]] for message in payload["messages"]]
    answered = [[[_written(call) for call in calls]] if calls else [] for calls in made]
    entry = {
        "id": f"{payload['category']}_{next(_numbers)}",
        "initial_config": payload["config"],
        "involved_classes": payload["apis"],
    }
    followed = _turns.multi_turn_checker(answered, wanted, entry, payload["category"], "any")
    return bool(followed["valid"]) and bool(_turns.multi_turn_irrelevance_checker(answered, wanted)["valid"])


def _written(call: Call) -> str:
    return f"{call['name']}({', '.join(f'{key}={value!r}' for key, value in call['arguments'].items())})"
