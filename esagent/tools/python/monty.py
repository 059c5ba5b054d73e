"""monty: programs run in pydantic-monty, a Python interpreter written in Rust. The default.

A program there has no file system, network, processes, ctypes or environment to begin with; its time, memory and
recursion are counted by the interpreter. That runs in a process of its own, under a process of ours which kills it when
its own limits do not hold and which limits the address space of both. `random` starts from seed 0.

What it lacks (version 1.4): most modules (of those that programs like to use it has bisect, collections, copy,
dataclasses, datetime, decimal, functools, itertools, json, math, random, re and typing), `del`, `yield`, inheritance,
`from ... import *`, `input` and `exit`. A program that uses one of them ends as `error` with a line that says so.

What is not covered: an error in Monty that lets a program out of its interpreter ends in an ordinary process of this
user. Clock and order of sets are the machine's own. On macOS the address space is not limited.
"""

from __future__ import annotations

import importlib.util
import sys

from esagent.tools.python.base import Limits
from esagent.tools.python.worker import INSIDE, Worker, as_json, python_line


def missing() -> str:
    """What has to be installed; "" when nothing."""
    if importlib.util.find_spec("pydantic_monty"):
        return ""
    return "pydantic-monty is not installed (pip install pydantic-monty)"


def make(limits: Limits) -> Worker:
    """The sandbox, not started."""
    return Worker("monty", _command, limits)


def _command(limits: Limits) -> list[str]:
    return [sys.executable, *python_line(f"inside.monty.main({as_json(limits)})", str(INSIDE.parent))]
