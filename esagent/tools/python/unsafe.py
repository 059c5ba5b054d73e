"""unsafe: programs run in a plain process of this user. Only when asked for by name.

Each program is forked from a Python that runs already, in a process group and a scratch folder of its
own, with limits on its address space, processor time, file size and open files; at the limit of wall-clock time the
process group is killed.

What is not covered is everything else: a program can read and write the files of this user, use the network, kill other
processes, leave its process group and so outlive its limit, and start processes without end. It is for programs you
would run yourself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from esagent.tools.python.base import Limits
from esagent.tools.python.pair import Pair
from esagent.tools.python.worker import INSIDE, as_json, python_line


def missing() -> str:
    """Nothing ever is."""
    return ""


def make(limits: Limits) -> Pair:
    """The sandbox, not started."""
    return Pair("unsafe", _command, limits, scratch=True)


def _command(packages: Sequence[str], limits: Limits) -> list[str]:
    call = f"inside.zygote.main({as_json(limits)}, {list(packages)}, False)"
    return [sys.executable, *python_line(call, str(INSIDE.parent))]
