"""Two processes of one kind, because forking a Python that has sympy loaded takes three times as long.

Programs that name a large package go to a process that has them loaded, which is started when the first one comes;
all others go to a lean one, where an import under another name still works, but takes its time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from esagent.tools.python.base import Limits, Outcome
from esagent.tools.python.worker import Worker

LARGE = ("numpy", "sympy", "mpmath")
"""Packages that programs can import where they are installed; sympy brings the last."""

LOADED = ("numpy.random", "sympy")
"""What the process for programs that name one of them loads beforehand. numpy does not load its random by itself."""

_NAMED = re.compile(rf"\b({'|'.join(LARGE)})\b")


class Pair:
    """A `PythonSandbox` of two workers.

    command: arguments of a process, from the packages it loads and the limits. scratch: see `Worker`.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[Sequence[str], Limits], Sequence[str]],
        limits: Limits,
        *,
        scratch: bool = False,
    ) -> None:
        self.name = name
        self._lean = Worker(name, lambda limits: command((), limits), limits, scratch=scratch)
        self._large = Worker(name, lambda limits: command(LOADED, limits), limits, scratch=scratch)

    def start(self) -> None:
        """Start the lean process. Raises SandboxError."""
        self._lean.start()

    def run(self, code: str) -> Outcome:
        """See `PythonSandbox.run`."""
        return (self._large if _NAMED.search(code) else self._lean).run(code)

    def close(self) -> None:
        """See `PythonSandbox.close`."""
        self._lean.close()
        self._large.close()
