"""A folder that appears whole or not at all: filled under another name, then renamed.

A killed writer leaves its draft behind. The kernel lock on a draft falls with its writer, so the next one can tell such
leftovers from what somebody is still writing, and removes them.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".tmp-"


@contextlib.contextmanager
def drafted(output: Path) -> Iterator[Path]:
    """Yield a new folder to fill; on a clean exit it becomes `output`, which is empty or not there, else it is removed.

    What killed writers of `output` left is removed first.
    """
    for leftover in output.parent.glob(f"{_PREFIX}*-{glob.escape(output.name)}"):
        with _locked(leftover) as free:
            if free:
                shutil.rmtree(leftover, ignore_errors=True)
    draft = output.with_name(f"{_PREFIX}{os.getpid()}-{output.name}")
    draft.mkdir(parents=True)
    try:
        with _locked(draft):
            yield draft
            os.replace(draft, output)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a kernel lock on `folder`; False where another process does, or the platform has none."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (ImportError, OSError):  # Windows, or it is gone by now
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except OSError:  # held, or a network file system without such locks
            held = False
        yield held
    finally:
        os.close(descriptor)
