"""Small and read-only disks, real ones: a tmpfs that only the calling child process sees, gone when it ends."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.runs.limited import context

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_RDONLY, _REMOUNT, _PRIVATE = 1, 32, (1 << 18) | 16384
_NOT_ALLOWED = "this system mounts nothing for a test: "


def on_disk(function: Callable[..., None], *arguments: Any) -> str:
    """Call `function(*arguments)` in a child that may use `mount`; "" or how it failed. Skips where it may not."""
    import pytest

    receiver, sender = context().Pipe(duplex=False)
    child = context().Process(target=_child, args=(sender, function, arguments))
    child.start()
    sender.close()
    text = str(receiver.recv())
    child.join(30)
    if text.startswith(_NOT_ALLOWED):
        pytest.skip(text)
    return text


def mount(folder: Path, kib: int, *, read_only: bool = False, again: bool = False) -> None:
    """Put a disk of `kib` KiB on `folder`, or change the one that is there (`again`)."""
    flags = (_RDONLY if read_only else 0) | (_REMOUNT if again else 0)
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", flags, f"size={kib}k".encode())


def _child(sender: Any, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    try:
        user, group = os.geteuid(), os.getegid()
        _call("unshare", _NEWNS | (_NEWUSER if user else 0))
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        _call("mount", b"none", b"/", None, _PRIVATE, None)
    except (OSError, AttributeError) as error:
        sender.send(f"{_NOT_ALLOWED}{error}")
        return
    try:
        function(*arguments)
    except BaseException as error:
        sender.send(f"{type(error).__name__}: {error}")
    else:
        sender.send("")


def _call(name: str, *arguments: Any) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
