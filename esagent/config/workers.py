"""Settings of a pool of workers (docs/ray.md)."""

from __future__ import annotations

from collections.abc import Iterator

from esagent.config import names
from esagent.config.nearest import suggest
from esagent.config.schema import BackendConfig, Config

POOL = ("inner", "workers", "gpus", "address", "time_limit", "spares")
"""Settings that backend=ray alone has."""


def inner_name(config: Config) -> str:
    """The backend that answers: of a pool, that of its workers."""
    return config.backend.inner if config.backend.name == "ray" else config.backend.name


def worker_problems(config: Config) -> Iterator[str]:
    """One line for every setting of workers where there are none, and every one that no worker can have."""
    backend = config.backend
    if backend.name != "ray":
        for name in POOL:
            value = getattr(backend, name)
            if value != getattr(BackendConfig, name):
                yield f"backend.{name}={value}: backend={backend.name} has no workers; choose backend=ray"
        return
    inner = [name for name in names.BACKENDS if name != "ray"]
    if backend.inner not in inner:
        yield f"backend.inner={backend.inner}: {suggest(backend.inner, inner)}"
    if backend.device.startswith("cuda:"):
        yield f"backend.device={backend.device}: Ray says which GPU a worker gets; choose auto, cpu or cuda"
    if backend.gpus > 1 and backend.inner in ("hf", "synthetic"):
        yield f"backend.gpus={backend.gpus}: backend.inner={backend.inner} runs on one GPU at most; choose 0 or 1"
    if backend.gpus and backend.device == "cpu":
        yield f"backend.gpus={backend.gpus}: backend.device=cpu uses none; leave it out"
    if backend.address is not None and (not backend.address.strip() or "://" in backend.address):
        yield (
            f"backend.address={backend.address}: host:port of a Ray cluster, as in 10.0.0.1:6379, or auto, from a "
            "machine that is part of it; or null"
        )
