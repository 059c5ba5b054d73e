"""Which sandbox runs what a model writes."""

from __future__ import annotations

from esagent.tools.python.base import Limits, PythonSandbox

KINDS = ("auto", "monty", "bwrap", "unsafe")


def make_sandbox(kind: str = "auto", limits: Limits = Limits()) -> PythonSandbox:  # noqa: B008 - frozen
    """A sandbox by name. Raises ConfigError for an unknown name, EnvironmentFailure when it is not installed here."""
    raise NotImplementedError
