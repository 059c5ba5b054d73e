"""Run a function in a child whose files cannot grow past a size: a disk that is full, as far as writing goes."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from typing import Any

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.runs.warm"])


def context() -> Any:
    """Children that start from a process with the heavy imports done."""
    return _context


def with_limit(function: Callable[..., None], size: int, *arguments: Any) -> str:
    """Call `function(*arguments)` where no file may grow past `size` bytes; returns the error's "Type: text"."""
    receiver, sender = _context.Pipe(duplex=False)
    child = _context.Process(target=_child, args=(sender, function, size, arguments))
    child.start()
    sender.close()
    text = receiver.recv()
    child.join(30)
    return str(text)


def _child(sender: Any, function: Callable[..., None], size: int, arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        function(*arguments)
    except Exception as error:
        sender.send(f"{type(error).__name__}: {error}")
    else:
        sender.send("no error")
