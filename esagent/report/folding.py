"""Tables that fit a terminal, and are whole anywhere else."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console

_WIDE = 200
_NARROW = 72  # below it whole columns would be lost


def folding_console(stream: TextIO) -> Console:
    """A console that folds cells to the width of a terminal, but in a file or pipe only beyond 200 columns."""
    console = Console(file=stream, highlight=False)
    width = max(console.width, _NARROW) if console.is_terminal else _WIDE
    return Console(file=stream, highlight=False, width=width)
