"""bwrap: programs run in CPython with numpy and sympy, behind bubblewrap. Linux on x86_64 or aarch64.

One bubblewrap holds a zygote: namespaces for users, processes, mounts, network, IPC and host name; a root that holds
the Python library, numpy, sympy and the system's shared libraries, read-only, and nothing else of this machine: no
home, no /etc, no /proc, no programs but Python. The zygote forks per program (`inside/jail.py`): a PID namespace and an
empty /tmp of its own, no capability, a filter that refuses sockets, mounts, shared memory and other unneeded system
calls, limits on address space, processor time, files and processes, and a watch over the processes and the memory of
all of them together. At a limit the whole PID namespace is killed. `random` and `numpy.random` start from seed 0.

What is not covered: an error in the kernel that a program can reach through the calls it has. Two programs of different
sandboxes share the machine: one can be slow because of the other, up to its own limits. The system's shared libraries
can be read. A clock is there, so results can depend on time; `numpy.random.default_rng()` without a seed differs from
call to call. Between two looks of the watch, 10 ms, programs can exceed the count of processes and, with several
processes, the memory.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from esagent.tools.python.base import Limits
from esagent.tools.python.pair import LARGE, Pair
from esagent.tools.python.worker import INSIDE, as_json, python_line

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ROOM, _ROOM_PACKAGES = "/sandbox", "/sandbox/packages"


def missing() -> str:
    """What has to be installed; "" when nothing."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap needs Linux"
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (bwrap is not on PATH)"
    return ""


def make(limits: Limits) -> Pair:
    """The sandbox, not started."""
    return Pair("bwrap", _command, limits)


def _command(packages: Sequence[str], limits: Limits) -> list[str]:
    call = python_line(f"inside.zygote.main({as_json(limits)}, {list(packages)}, True)", _ROOM, _ROOM_PACKAGES)
    return [shutil.which("bwrap") or "bwrap", *_walls(), "--", _interpreter(), "-S", *call]


def _walls() -> list[str]:
    return [
        *("--unshare-user", "--unshare-all", "--cap-add", "CAP_SYS_ADMIN"),
        *_libraries(),
        *_python(),
        *_packages(),
        *("--ro-bind", str(INSIDE), f"{_ROOM}/inside"),
        *(word for device in _DEVICES for word in ("--dev-bind", device, device)),
        *("--proc", "/proc", "--dir", "/tmp", "--chdir", "/", "--remount-ro", "/"),
    ]


def _interpreter() -> str:
    return os.path.realpath(sys.executable)


def _libraries() -> list[str]:
    """The system's shared libraries, with the symbolic links that lead to them."""
    words: list[str] = []
    for path in _LIBRARIES:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    return words


def _python() -> list[str]:
    """The interpreter, its own shared libraries and the standard library, without what else is installed there."""
    library = Path(sys.base_prefix, "lib")
    standard = sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix})
    shown = [_interpreter(), *sorted(glob.glob(f"{library}/*.so*")), standard]
    words = [word for path in shown for word in ("--ro-bind", path, path)]
    for folder in (f"{standard}/site-packages", f"{standard}/dist-packages", f"{library}/python3/dist-packages"):
        if os.path.isdir(folder):
            words += ["--tmpfs", folder, "--remount-ro", folder]
    return words


def _packages() -> list[str]:
    words: list[str] = []
    for name in LARGE:
        spec = importlib.util.find_spec(name)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        for folder in folders[:1]:
            words += ["--ro-bind", folder, f"{_ROOM_PACKAGES}/{name}"]
            if os.path.isdir(f"{folder}.libs"):
                words += ["--ro-bind", f"{folder}.libs", f"{_ROOM_PACKAGES}/{name}.libs"]
    return words
