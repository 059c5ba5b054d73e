"""From a configuration to a pool of workers."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from dataclasses import replace

from esagent.backends.ray import cluster
from esagent.backends.ray.backend import RayBackend
from esagent.backends.ray.pool import Pool
from esagent.backends.ray.traffic import Traffic
from esagent.backends.ray.units import Split
from esagent.backends.ray.wire import pack
from esagent.config.schema import BackendConfig, Config, Positions
from esagent.config.workers import inner_name


def make_pool(config: Config, modules: Sequence[str]) -> RayBackend:
    """Connect to the cluster, start the workers, and let each make the inner backend of `config`.

    Raises EnvironmentFailure for a cluster that is absent or too small and for workers that do not start, and what
    making the inner backend raises. The workers end with the backend.
    """
    backend = config.backend
    resources = cluster.connect(backend.address, backend.workers)
    gpus = gpus_each(backend, resources)
    cores = resources.get("CPU", 1) if backend.address else cluster.cores()
    threads = backend.threads or max(1, int(cores // backend.workers))
    cpus = threads if backend.address else 0  # all of a cluster of one's own is there for them
    cluster.require(resources, backend.workers, cpus, gpus)
    pool = Pool(
        pack((inner_config(config, threads, gpus), tuple(modules))),
        backend.workers,
        functools.partial(cluster.new_worker, cpus, gpus),
        limit=backend.time_limit,
        spares=backend.spares,
        traffic=Traffic(),
    )
    made = RayBackend(pool, split_of(config), share=backend.share_requests)
    weakref.finalize(made, pool.close).atexit = False  # at exit all of Ray ends
    return made


def gpus_each(backend: BackendConfig, resources: dict[str, float]) -> int:
    """GPUs of a worker: none on the CPU, else those asked for, one by default."""
    if backend.inner == "synthetic" or backend.device == "cpu":
        return 0
    wanted = backend.device == "cuda" or resources.get("GPU", 0) > 0
    return backend.gpus or int(wanted)


def inner_config(config: Config, threads: int, gpus: int) -> Config:
    """The configuration of a worker, which sees its own GPUs alone, and counts them from 0."""
    device = "cuda" if gpus else "cpu"
    return replace(config, backend=replace(config.backend, name=config.backend.inner, threads=threads, device=device))


def split_of(config: Config) -> Split:
    """By prompt where members share the work on prompts, which the base model reads; else by member.

    An engine that keeps an adapter for each member has room for few: it is given few.
    """
    shared = config.space.positions is Positions.answer and config.space.name in ("bias", "core", "lora")
    return "prompts" if shared and inner_name(config) == "hf" else "members"
