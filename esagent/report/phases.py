"""What a longer piece of work is doing, on stderr: one updating line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.text import Text

from esagent.report.text import duration


class Phases:
    """Context manager. Each phase ends with a line that stays; within one, a terminal shows how far it is."""

    def __init__(self, plain: bool = False, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        live = self._console.is_terminal and not self._console.is_dumb_terminal and not plain
        self._status: Any = self._console.status("") if live else None
        self._start = time.monotonic()
        self._doing = ""

    def __enter__(self) -> Self:
        self._around().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._around().__exit__(kind, error, trace)

    def phase(self, text: str) -> None:
        """What begins now."""
        self._doing = text
        self.progress(0, 0)

    def progress(self, done: int, total: int) -> None:
        """How much of the phase is done; shown on a terminal alone."""
        if self._status is not None:
            self._status.update(Text(f"{self._doing}  {done}/{total}" if total else self._doing))

    def result(self, text: str) -> None:
        """What the phase gave; stays on the screen."""
        self._console.print(Text(f"[{duration(time.monotonic() - self._start):>7}] {self._doing}: {text}"))

    def _around(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._status is None else self._status
