"""Which kinds of sandbox the tests can run here."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from esagent.errors import EnvironmentFailure
from esagent.tools.python import make_sandbox

ALL = ("monty", "bwrap", "unsafe")


@functools.cache
def lacking(kind: str) -> str:
    """Why a kind does not run here; "" when it does."""
    try:
        make_sandbox(kind).close()
    except EnvironmentFailure as failure:
        return str(failure)
    return ""


def kinds() -> list[Any]:
    """Parameters of a test: every kind, skipped with the reason where it does not run here."""
    skip = {kind: lacking(kind) for kind in ALL}
    return [pytest.param(k, marks=pytest.mark.skipif(bool(skip[k]), reason=skip[k] or "runs here")) for k in ALL]


def walled() -> list[Any]:
    """`kinds`, of which the one without walls runs with the tests that take longer."""
    monty, bwrap, unsafe = kinds()
    return [monty, bwrap, pytest.param(*unsafe.values, marks=[*unsafe.marks, pytest.mark.kill])]
