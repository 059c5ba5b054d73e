"""Objects named on the command line as `module:Name` (task.target, agent.target)."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import esagent
from esagent.errors import ConfigError
from esagent.stopping import Told

_OURS = str(Path(esagent.__file__).parent)


def import_target(option: str, target: str) -> Callable[..., Any]:
    """The class or function named `module:Name`.

    The current folder is importable, as it is for `python -m`. `option` names the setting in messages, for example
    "agent.target". Raises ConfigError, one line, when the module or the name fails.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and module_name and name.isidentifier()):
        raise ConfigError(f"{option}: {target!r} is not of the form my_module:MyClass")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Told:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{option}: cannot import {module_name!r}: {said(error)}") from error
    found = getattr(module, name, None)
    if not callable(found):
        classes = ", ".join(key for key, value in vars(module).items() if isinstance(value, type)) or "no classes"
        raise ConfigError(f"{option}: {module_name} has no class {name!r}; it has {classes}")
    return found


def build_target(option: str, target: str, options: Mapping[str, Any]) -> Any:
    """Import `module:Name` and call it with `options` as keyword arguments.

    Raises ConfigError like `import_target`, and also, one line, when the call fails.
    """
    factory = import_target(option, target)
    try:
        return factory(**options)
    except (ConfigError, Told):
        raise
    except (Exception, SystemExit) as error:
        group = option.partition(".")[0]
        raise ConfigError(f"{option}: {target} with {group}.options={dict(options)} fails: {said(error)}") from error


def said(error: BaseException) -> str:
    """What an error of a user's code says, in one line, with the place in that code where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith(("<", _OURS)) and f.filename != importlib.__file__]
    where = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{where}"
