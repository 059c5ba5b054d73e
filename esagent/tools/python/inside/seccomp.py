"""The system calls that no program may make: a classic BPF filter for seccomp(2), which refuses them with EPERM.

Refused is what reaches past the namespaces (sockets, mounts, other processes' memory), what outlives a program
(System V and POSIX IPC), memory that no limit counts (memfd), and corners of the kernel that arithmetic does not need.
"""

from __future__ import annotations

import errno
import os
import struct

# Name: (x86_64, aarch64), from the kernel's syscall tables.
REFUSED = {
    "socket": (41, 198),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    "quotactl": (179, 60),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
}

ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}
"""Machine: column of `REFUSED`, AUDIT_ARCH value, number of clone."""

_CLONE3 = 435
_X32 = 0x40000000
_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def program() -> bytes:
    """The filter for this machine, as an array of struct sock_filter. Raises OSError for a machine not listed."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"there is no system call filter for {machine}")
    column, arch, clone = ARCHITECTURES[machine]
    code = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, arch, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, no=1),
        _step(_RETURN, _KILL),
        # clone3 takes its flags by pointer, which a filter cannot read; libc falls back to clone
        *_refuse(_CLONE3, errno.ENOSYS),
    ]
    for numbers in REFUSED.values():
        code += _refuse(numbers[column], errno.EPERM)
    code += [
        _step(_EQUAL, clone, no=3),
        _step(_LOAD, _ARGUMENT),
        _step(_ANY_BIT, _NAMESPACES, no=1),
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(code)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _refuse(number: int, error: int) -> list[bytes]:
    return [_step(_EQUAL, number, no=1), _step(_RETURN, _ERRNO | error)]
