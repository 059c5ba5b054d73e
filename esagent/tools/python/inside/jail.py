"""What the zygote adds to bubblewrap's namespaces for every single program.

Each program is the first process of a PID namespace of its own, so that killing it kills all that it started, and it
can name no process outside. It has a mount namespace with an empty /tmp of bounded size, no capability, and the system
call filter. Every step that fails raises OSError, and the program does not run.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
from typing import Any

from . import seccomp

_NEWNS, _NEWPID = 0x00020000, 0x20000000
_MNT_DETACH = 2
_NOSUID_NODEV = 6
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_CAPABILITY_VERSION_3 = 0x20080522
_PAGE = resource.getpagesize()
_FIRST = 1
"""Process id of bubblewrap's own init in the sandbox."""


class Jail:
    """Made once, in the zygote, after everything is imported."""

    scratch = "/tmp"

    def __init__(self, limits: dict[str, Any]) -> None:
        self.processes = _process_limit(limits["processes"])
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._anonymous = self._usage("self")
        self._call("umount2", b"/proc", _MNT_DETACH)  # seen through the open folder from now on, by the zygote alone
        self._options = f"size={limits['disk_mb']}m,nr_inodes=1024,mode=0700".encode()
        code = seccomp.program()
        self._code = ctypes.create_string_buffer(code, len(code))
        self._filter = _Filter(len(code) // 8, ctypes.addressof(self._code))

    def before_fork(self) -> None:
        """The next child is the first process of a new PID namespace."""
        self._call("setns", self._own, _NEWPID)
        self._call("unshare", _NEWPID)

    def confine(self) -> None:
        """In the child: a session and a mount namespace with an empty scratch folder, no capability, the filter."""
        os.setsid()  # signals to a process group cross PID namespaces: the zygote must not be in this one
        self._call("unshare", _NEWNS)
        self._call("mount", b"tmpfs", b"/tmp", b"tmpfs", _NOSUID_NODEV, self._options)
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        self._call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))
        self._call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        self._call("prctl", _PR_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(self._filter), 0, 0)

    def used(self) -> tuple[int, int]:
        """Processes of the program that runs, and the bytes of memory they hold beyond the zygote's own."""
        count = total = 0
        for name in os.listdir(self._proc):
            if name.isdecimal() and int(name) not in (_FIRST, os.getpid()):
                count += 1
                total += max(0, self._usage(name) - self._anonymous)
        return count, total

    def kill(self, pid: int) -> None:
        """Nothing: the kernel killed the whole PID namespace when its first process ended."""

    def close(self) -> None:
        """Nothing: all of it goes with the zygote's namespaces."""

    def _usage(self, process: str) -> int:
        """Bytes of memory of a process that no file backs; 0 when it is gone."""
        try:
            file = os.open(f"{process}/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return 0
        try:
            _, resident, shared, *_ = os.read(file, 200).split()
        except (OSError, ValueError):
            return 0
        finally:
            os.close(file)
        return (int(resident) - int(shared)) * _PAGE

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self._libc, name)(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")


def _process_limit(processes: int) -> int | None:
    """RLIMIT_NPROC, above the limit that the watch keeps so that it sees who breaks it; None where it counts others.

    Before Linux 5.14 it counts the processes that the user has on the whole machine.
    """
    major, minor = (int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return 2 * processes + 2 if (major, minor) >= (5, 14) else None


class _Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
