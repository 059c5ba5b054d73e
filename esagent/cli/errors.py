"""How a command ends: the one place that turns exceptions into lines on standard error and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from esagent.errors import ConfigError, EnvironmentFailure, EsagentError, InvalidRun

INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for a writer whose reader went away


@contextmanager
def guarded() -> Iterator[None]:
    """Run a command's body. Every failure leaves as `typer.Exit` with its code, after one line per problem."""
    try:
        yield
        sys.stdout.flush()  # a reader that went away is noticed here, not at interpreter exit
    except typer.Exit:
        raise
    except EsagentError as error:
        for problem in error.problems if isinstance(error, ConfigError | InvalidRun) else (str(error),):
            tell(problem)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt as error:
        tell("interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except BrokenPipeError as error:
        _silence()
        raise typer.Exit(BROKEN_PIPE) from error
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            _tell_bug(error)
            raise typer.Exit(1) from error
        _silence()  # files are named where they are written; this is standard output
        tell(f"cannot write to standard output: {error.strerror}")
        raise typer.Exit(EnvironmentFailure.exit_code) from error
    except Exception as error:
        _tell_bug(error)
        raise typer.Exit(1) from error


def _silence() -> None:
    """Nothing goes to standard output any more: no second error when Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_bug(error: Exception) -> None:
    tell(f"unexpected {type(error).__name__}: {_first_line(error)}; {_keep_traceback(error)}")


def tell(problem: str) -> None:
    """One line on standard error."""
    with suppress(OSError):  # nobody is left to tell; the exit code says it
        sys.stderr.write(f"esagent: {' '.join(problem.split())}\n")
        sys.stderr.flush()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def _keep_traceback(error: Exception) -> str:
    """Write the traceback where it can be found again: into the run directory that the error names, else to stderr."""
    text = "".join(traceback.format_exception(error))
    run_dir = getattr(error, "run_dir", None)
    if isinstance(run_dir, str | Path) and Path(run_dir).is_dir():
        path = Path(run_dir) / "error.log"
        with suppress(OSError):  # a full disk, say
            path.write_text(text)
            return f"traceback in {path}"
    sys.stderr.write(text)
    return "this is a bug, its traceback is above"
