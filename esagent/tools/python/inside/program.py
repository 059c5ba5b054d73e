"""Runs one program in the process that was made for it, and ends that process."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
import types
from collections.abc import Callable
from typing import TextIO

from .verdict import READY, STATUS, error_line, reason_of

FILENAME = "<program>"


def run(code: str, errors: int) -> None:
    """Run `code` as `__main__` and leave by `os._exit`: never returns.

    errors: file descriptor that takes `READY` and then the error line. The exit status is one of `STATUS`.
    """
    status = STATUS["error"]
    try:
        os.write(errors, READY)
        raw = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
        output = io.TextIOWrapper(raw, "utf-8", "replace", line_buffering=True)
        sys.stdout = sys.stderr = output
        ended = _attempt(lambda: _execute(code))
        finished = _attempt(lambda: _finish(output))
        reason, line = ended if ended[0] else finished
        status = STATUS[reason]
        with contextlib.suppress(OSError):  # when the program closed it, there is no line
            os.write(errors, line.encode(errors="replace"))
    except MemoryError:
        status = STATUS["memory"]
    finally:
        os._exit(status)


def _execute(code: str) -> None:
    tree = ast.parse(code, FILENAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(tree, FILENAME, "exec"), main.__dict__)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), FILENAME, "eval"), main.__dict__)
        sys.__displayhook__(value)


def _finish(output: TextIO) -> None:
    """Wait for the program's threads, as Python does at its end, and write what is still buffered."""
    if threading := sys.modules.get("threading"):
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
    output.flush()


def _attempt(action: Callable[[], None]) -> tuple[str, str]:
    """Reason and error line of `action`; both are empty when it succeeds."""
    try:
        action()
    except SystemExit as end:
        if end.code in (None, 0):
            return "", ""
        return "error", f"SystemExit: {end.code}"[:200] if isinstance(end.code, (int, str)) else "SystemExit"
    except BaseException as error:
        reason, line = reason_of(error), _describe(error)
        error.__traceback__ = None  # its frames hold the program's memory, which the rest may need
        return reason, line
    return "", ""


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # of the program's own __str__
        message = ""
    if isinstance(error, SyntaxError):
        return error_line(name, message, error.lineno)
    line, frame = None, error.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == FILENAME:
            line = frame.tb_lineno
        frame = frame.tb_next
    return error_line(name, message, line)
