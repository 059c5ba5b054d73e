"""The Ray cluster under a pool: one of its own on this machine, or an existing one by its address.

A cluster of one's own lives and dies with this process, also after `kill -9`: a janitor, which the end of this process
wakes, ends what is left of it and removes its folder under the temporary folder. Its object store is memory without a
name.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import ray

from esagent.backends.ray.worker import Worker
from esagent.errors import EnvironmentFailure

_PREFIX = "esagent-ray-"
_STORE = 80 << 20  # bytes of shared memory; messages are small and rarely go through it
_LONGEST = 12  # letters of the temporary folder: the names of sockets far below it must stay below 108
_folder: Path | None = None
_janitor: subprocess.Popen[bytes] | None = None


def connect(address: str | None, cpus: int) -> dict[str, float]:
    """Connect this process to the cluster at `address`, or to one of its own with room for `cpus` workers at first;
    returns the cluster's resources.

    A process has one connection, which later pools share. Raises EnvironmentFailure when nothing answers there.
    """
    if not ray.is_initialized():
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # workers do what the run is for
        try:
            with _own_signals():
                _silence()
                if address:
                    _knock(address)
                    ray.init(address=address, **quiet)
                else:
                    ray.init(
                        address="local",
                        num_cpus=cpus,
                        include_dashboard=False,
                        object_store_memory=_STORE,
                        _temp_dir=str(_make_folder()),
                        **quiet,
                    )
        except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
            _leave()
            where = f"Ray at backend.address={address}" if address else "a Ray cluster on this machine"
            raise EnvironmentFailure(f"{where} cannot be reached: {' '.join(str(error).split())[:200]}") from error
        atexit.register(_leave)
    resources: dict[str, float] = ray.cluster_resources()
    return resources


def _knock(address: str) -> None:
    """Raises OSError where no one listens at host:port, which Ray itself would take a minute to find out."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def require(resources: dict[str, float], workers: int, cpus: int, gpus: int) -> None:
    """Raises EnvironmentFailure unless `workers` of so many cores and GPUs each fit into the cluster."""
    for kind, each, setting in (("CPU", cpus, "backend.threads"), ("GPU", gpus, "backend.gpus")):
        there = int(resources.get(kind, 0))
        if workers * each > there:
            raise EnvironmentFailure(
                f"backend.workers={workers} with {setting}={each} needs {workers * each} {kind}s; the cluster has "
                f"{there}"
            )


def new_worker(cpus: int, gpus: int) -> Any:
    """A process for one worker, on whichever node has room. Its GPUs, all on one node, are its own alone."""
    actor = ray.remote(Worker).options(
        num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
    )
    return actor.remote()


def kill(actor: Any, pid: int | None = None, node: str | None = None) -> None:
    """End a worker at once. One that does not even hear Ray is killed by its process id where it runs here."""
    with contextlib.suppress(Exception):  # it may be dead, or its node
        ray.kill(actor, no_restart=True)
    with contextlib.suppress(Exception):
        if pid is not None and node == ray.get_runtime_context().get_node_id():
            process = psutil.Process(pid)
            if "ray::" in " ".join(process.cmdline()):  # no other process that got its number
                process.kill()


def shut() -> None:
    """Leave the cluster; one of this process's own ends."""
    _leave()
    atexit.unregister(_leave)


def _silence() -> None:
    """Ray prints deaths of workers on standard output, from a thread of its own and whenever it likes; that is for
    data, and events are told anyway. It has no setting for this."""
    with contextlib.suppress(AttributeError):
        ray._private.worker.print_to_stdstream = lambda *_, **__: None


def _leave() -> None:
    global _folder, _janitor
    ray.shutdown()
    if _janitor is not None and _janitor.stdin is not None:
        _janitor.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            _janitor.wait(10)
        _janitor = None
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
        _folder = None


def _make_folder() -> Path:
    """A short folder of this process's own; those of processes that were killed are removed."""
    global _folder, _janitor
    root = Path(tempfile.gettempdir())
    if len(str(root)) > _LONGEST:
        root = Path("/tmp")
    for old in root.glob(f"{_PREFIX}*"):
        pid = old.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    _folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root))
    command = [sys.executable, "-m", "esagent.backends.ray.janitor", str(os.getpid()), str(_folder)]
    quiet = subprocess.DEVNULL  # it must not keep a reader of this process's output waiting
    _janitor = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    return _folder


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; the run heeds it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
