"""What surrounds each program of a zygote: the walls of `jail.Jail`, or none."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
from typing import Any, Protocol


class Bounds(Protocol):
    """Made once, in the zygote, after everything is imported. Steps that fail raise OSError: no program runs then."""

    scratch: str

    def before_fork(self) -> None:
        """In the zygote, before each program."""
        ...

    def confine(self) -> None:
        """In the program's process, before its limits are set."""
        ...

    def used(self) -> tuple[int, int]:
        """Processes of the program that runs, and the bytes of memory they hold beyond the zygote's own."""
        ...

    def kill(self, pid: int) -> None:
        """Kill what is left of a program whose first process is or was `pid`."""
        ...

    def close(self) -> None:
        """When the zygote ends."""
        ...


class Unjailed:
    """No walls: a process group, a scratch folder, and the limits that any process can set for itself."""

    def __init__(self) -> None:
        self.scratch = os.environ["TMPDIR"]  # made by the caller, who removes it too: whoever of the two lives longer

    def before_fork(self) -> None:
        """An empty scratch folder."""
        for entry in os.scandir(self.scratch):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)

    def confine(self) -> None:
        """A process group of its own."""
        os.setsid()

    def used(self) -> tuple[int, int]:
        """Not known: the process table here is the whole machine's."""
        return 0, 0

    def kill(self, pid: int) -> None:
        """Kill the process group; what left it lives on."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.scratch, ignore_errors=True)


def limit_resources(limits: dict[str, Any], address_space: int, processes: int | None) -> None:
    """Limits of this process and, each for itself, of what it starts.

    address_space: bytes that it holds already; 0 where that is not known, and memory then is not limited. processes: of
    the user namespace, or None.
    """
    disk = limits["disk_mb"] << 20
    seconds = math.ceil(limits["seconds"]) + 1
    table = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_FSIZE: disk, resource.RLIMIT_NOFILE: 64}
    table[resource.RLIMIT_CORE] = 0
    if address_space:
        table[resource.RLIMIT_AS] = address_space + (limits["memory_mb"] << 20)
    if processes is not None:
        table[resource.RLIMIT_NPROC] = processes
    for kind, value in table.items():
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def held_address_space() -> int:
    """Bytes of address space of this process; 0 where the kernel does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
