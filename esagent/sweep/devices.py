"""One job per GPU: which devices there are to hand out, and who has which."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from filelock import FileLock, Timeout

from esagent.config.schema import Config
from esagent.sweep.folder import SweepFolder

VISIBLE = "CUDA_VISIBLE_DEVICES"
CPU = "cpu"
"""A device that stands for a whole machine without a GPU: one job at a time."""


def visible_devices() -> list[str]:
    """The GPUs a sweep may use, as CUDA_VISIBLE_DEVICES names them: those it lists, else all that nvidia-smi does."""
    given = os.environ.get(VISIBLE)
    if given is not None:
        return [device for device in (part.strip() for part in given.split(",")) if device not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):  # a driver without devices answers with an error
        return []


def devices_for(config: Config, devices: Sequence[str]) -> list[str]:
    """Which of `devices` a job may be given: none when its configuration already says which it uses."""
    return list(devices) if config.backend.device in ("auto", "cuda") or CPU in devices else []


@contextmanager
def reserve(folder: SweepFolder, devices: Sequence[str]) -> Iterator[str | None]:
    """Hold one of `devices` for the body, waiting for a free one; None when there is none to hold, or on a stop.

    The locks are the kernel's, so a job that dies in any way gives its device back.
    """
    locks = {device: FileLock(str(folder.device_lock(place)), timeout=0) for place, device in enumerate(devices)}
    held: str | None = None
    while held is None and locks and not folder.stop_requests():
        held = next((device for device, lock in locks.items() if acquired(lock)), None)
        if held is None:
            time.sleep(0.2)
    try:
        yield held
    finally:
        if held is not None:
            locks[held].release()


def environment(device: str | None) -> dict[str, str]:
    """The environment of a job that holds `device`."""
    return dict(os.environ) if device in (None, CPU) else os.environ | {VISIBLE: str(device)}


def acquired(lock: FileLock) -> bool:
    """Take a lock whose timeout is 0, if nobody has it."""
    try:
        lock.acquire()
    except Timeout:
        return False
    return True
