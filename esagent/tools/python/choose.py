"""Which sandbox runs what a model writes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from esagent.errors import ConfigError, EnvironmentFailure
from esagent.tools.python import bwrap, monty, unsafe
from esagent.tools.python.base import Limits, PythonSandbox, SandboxError


class _Startable(PythonSandbox, Protocol):
    def start(self) -> None: ...


class _Kind(Protocol):
    """What each of the modules offers."""

    def missing(self) -> str: ...
    def make(self, limits: Limits) -> _Startable: ...


_MODULES: Mapping[str, _Kind] = {"monty": monty, "bwrap": bwrap, "unsafe": unsafe}

KINDS = ("auto", *_MODULES)


def make_sandbox(kind: str = "auto", limits: Limits = Limits()) -> PythonSandbox:  # noqa: B008 - it is frozen
    """A sandbox, started.

    kind: `auto` is `monty`, or `bwrap` where only that is installed; never `unsafe`. Raises ConfigError for another
    name or limits that are none, EnvironmentFailure when the kind is not installed here or does not start.
    """
    if kind not in KINDS:
        raise ConfigError(f"python sandbox: there is no {kind!r}; there are {', '.join(KINDS)}")
    _check(limits)
    if kind == "auto":
        kind = _first_installed()
    module = _MODULES[kind]
    if lacking := module.missing():
        raise EnvironmentFailure(f"python sandbox {kind!r}: {lacking}")
    sandbox = module.make(limits)
    try:
        sandbox.start()
    except SandboxError as error:
        raise EnvironmentFailure(str(error)) from error
    return sandbox


def _first_installed() -> str:
    lacking = {kind: _MODULES[kind].missing() for kind in ("monty", "bwrap")}
    for kind, what in lacking.items():
        if not what:
            return kind
    raise EnvironmentFailure(
        f"python sandbox: {'; '.join(lacking.values())}; 'unsafe' runs programs without any wall, if you ask for it"
    )


def _check(limits: Limits) -> None:
    least = {"seconds": 0.05, "memory_mb": 16, "output_chars": 1, "processes": 1, "disk_mb": 1}
    problems = [
        f"python sandbox: {name} is {getattr(limits, name)}, but at least {value} and finite"
        for name, value in least.items()
        if not (getattr(limits, name) >= value and math.isfinite(getattr(limits, name)))
    ]
    if problems:
        raise ConfigError(*problems)
