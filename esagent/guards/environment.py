"""What a run finds on this machine: versions, device, threads, memory, sandbox, engines, disk. For `esagent doctor`."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from esagent.config.files import user_path
from esagent.config.schema import Config
from esagent.config.synthetic import is_synthetic
from esagent.errors import EsagentError
from esagent.guards.finding import Finding
from esagent.runs.manifest import machine, versions

FREE = 1 << 30
"""Bytes of a disk below which a run may end on a full one."""

_SHOWN = ("esagent", "python", "torch", "transformers", "numpy")
_ENGINES = ("vllm", "ray")


def environment(config: Config) -> Iterator[Finding]:
    """One finding for each thing, none of them about the run itself."""
    found = versions()
    yield Finding("versions", "ok", ", ".join(f"{name} {found[name]}" for name in _SHOWN if name in found))
    yield from _device(config)
    yield from _threads(config)
    yield Finding("engines", "ok", ", ".join(["hf", *(f"{e} {found[e]}" for e in _ENGINES if e in found)]))
    yield _sandbox()
    yield from _disk(config)


def _device(config: Config) -> Iterator[Finding]:
    here = machine()
    memory = psutil.virtual_memory()
    of_machine = f"{here['cpu']}, {memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GB of memory free"
    if is_synthetic(config):
        yield Finding("device", "ok", f"cpu ({of_machine})")
        return
    import torch

    from esagent.models.loading import pick_device, pick_dtype

    try:
        device = pick_device(config.backend.device)
    except EsagentError as error:
        yield Finding("device", "fault", str(error), "set backend.device=auto")
        return
    dtype = str(pick_dtype(config.model.dtype, device)).removeprefix("torch.")
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        name = torch.cuda.get_device_name(device)
        of_machine = f"{name}, {free / 2**30:.1f} of {total / 2**30:.1f} GB of its memory free"
    yield Finding("device", "ok", f"{device} in {dtype} ({of_machine})")


def _threads(config: Config) -> Iterator[Finding]:
    usable = machine()["usable_cores"]
    given = os.environ.get("OMP_NUM_THREADS", "")
    wanted = config.backend.threads or (int(given) if given.isdigit() else usable)
    if wanted > usable:
        cause = f"{wanted} threads on {usable} usable cores wait for each other"
        yield Finding("threads", "note", cause, f"set backend.threads={usable}", float(wanted))
    else:
        yield Finding("threads", "ok", f"{wanted} threads on {usable} usable cores", "", float(wanted))


def _sandbox() -> Finding:
    found = [name for name in ("bwrap",) if shutil.which(name)]
    found += [name for name in ("pydantic_monty",) if importlib.util.find_spec(name)]
    if found:
        return Finding("sandbox", "ok", f"{', '.join(found)} for agents that run code")
    return Finding(
        "sandbox", "note", "nothing here runs the code of agents apart", "install bubblewrap, for tasks with code alone"
    )


def _disk(config: Config) -> Iterator[Finding]:
    folder = user_path(config.runs_dir).absolute()
    there = next((path for path in (folder, *folder.parents) if path.is_dir()), Path("/"))
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        yield Finding("disk", "fault", f"{there} cannot be written", "set runs_dir to a folder that can", float(free))
    elif free < FREE:
        yield Finding(
            "disk", "note", f"{free / 2**20:.0f} MB are free for {folder}", "free some, or set runs_dir", float(free)
        )
    else:
        yield Finding("disk", "ok", f"{free / 2**30:.1f} GB are free for {folder}", "", float(free))
