"""The task families that ship, and the user's own."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from esagent.config.schema import TaskConfig
from esagent.config.target import build_target
from esagent.errors import ConfigError
from esagent.tasks.base import TaskFamily
from esagent.tasks.bfcl import BfclFamily
from esagent.tasks.countdown import CountdownFamily
from esagent.tasks.jsonl import JsonlFamily
from esagent.tasks.math import MathFamily
from esagent.tasks.qa import QaFamily, QaFileFamily
from esagent.tasks.synthetic import SyntheticFamily
from esagent.tasks.toolbox import ToolboxFamily

FAMILIES: Mapping[str, Callable[..., TaskFamily]] = {
    "toolbox": ToolboxFamily,
    "jsonl": JsonlFamily,
    "math": MathFamily,
    "countdown": CountdownFamily,
    "synthetic": SyntheticFamily,
    "qa": QaFamily,
    "bfcl": BfclFamily,
}

_METHODS = ("tasks", "env", "score", "gold", "validate")


def make_family(config: TaskConfig) -> TaskFamily:
    """The task family of a configuration.

    `config.target` (my_module:MyFamily) is called with `config.options` alone; the families that ship take them as
    further keyword arguments. Raises ConfigError, one line a problem.
    """
    if config.target:
        return _checked(config.target, build_target("task.target", config.target, config.options))
    make = FAMILIES.get(config.name)
    if make is None:
        near = difflib.get_close_matches(config.name, FAMILIES, n=1, cutoff=0.0)
        raise ConfigError(f"task.name: there is no family {config.name!r}; did you mean {near[0]!r}?")
    settings: dict[str, Any] = {"level": config.level}
    if config.name == "jsonl":
        if not config.path:
            raise ConfigError("task.path: task=jsonl needs a file, task.path=questions.jsonl")
        settings = {"path": config.path, "scorer": config.scorer or "exact"}
    if config.name == "math":
        settings = {"level": config.level, "path": config.path}
    if config.name == "countdown":
        settings = {"path": config.path}
    if config.name == "synthetic":
        settings = {"modules": config.chain.modules, "graded": config.chain.graded}
    if config.name == "qa" and config.path:
        make, settings = QaFileFamily, {"path": config.path, "scorer": config.scorer or "f1"}
    if config.name == "bfcl":
        settings = {}
    taken = [name for name in inspect.signature(make).parameters if name not in settings]
    unknown = [name for name in config.options if name not in taken]
    if unknown:
        takes = ", ".join(taken) or "none"
        raise ConfigError(f"task.options: {config.name} takes {takes}, not {', '.join(unknown)}")
    return make(**settings, **config.options)


def _checked(target: str, family: Any) -> TaskFamily:
    missing = [name for name in _METHODS if not callable(getattr(family, name, None))]
    if missing:
        raise ConfigError(f"task.target: {target} has no method {', '.join(missing)}")
    if not isinstance(getattr(family, "name", None), str):
        raise ConfigError(f"task.target: {target} needs `name`, a text")
    return family
