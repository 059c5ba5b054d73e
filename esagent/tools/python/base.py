"""What a sandbox for model-written Python is: a program in, an `Outcome` out, within `Limits`.

Whatever a program does is an `Outcome`: its mistakes, its floods and its attacks. Only when the sandbox itself fails
does `run` raise, a `SandboxError`, which a rollout counts as a failure of the harness (`unscored`), never as reward 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Reason = Literal["", "error", "time", "memory", "output", "processes", "refused", "killed"]
"""Why a program did not run to its end: its own error, or the limit it broke. `refused`: it asked for what no program
may have, or is longer than `MAX_CODE`; `killed`: it was ended by a signal that no limit explains."""

MAX_CODE = 20_000
"""Longest program, in characters."""


@dataclass(frozen=True)
class Limits:
    """What one program may use.

    seconds: wall clock, start to end. memory_mb: of its process. output_chars: printed text; one more ends it.
    processes: it and its children, where children are possible at all. disk_mb: files it writes, likewise.
    """

    seconds: float = 5.0
    memory_mb: int = 256
    output_chars: int = 4000
    processes: int = 16
    disk_mb: int = 16


@dataclass(frozen=True)
class Outcome:
    """What became of one program.

    ok: it ran to its end. output: what it printed, and the value of an expression on its last line as a REPL shows it,
    cut at `Limits.output_chars`; after a failure a line that says why comes last. reason: "" exactly when ok.
    """

    ok: bool
    output: str
    reason: Reason = ""


class SandboxError(Exception):
    """The sandbox itself failed; it says nothing about the program."""


class PythonSandbox(Protocol):
    """Runs programs one after the other, each from a clean state: what one defines or breaks does not reach another."""

    name: str

    def run(self, code: str) -> Outcome:
        """Run one program to its end or to its limit. Raises SandboxError when the sandbox itself fails."""
        ...

    def close(self) -> None:
        """Stop the processes behind it. A second call does nothing; `run` afterwards raises SandboxError."""
        ...
