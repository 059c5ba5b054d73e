"""Names to backends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from esagent.backends.base import Backend
from esagent.config.names import BACKENDS
from esagent.config.schema import Config, DType
from esagent.errors import ConfigError, EnvironmentFailure


def make_backend(config: Config, modules: Sequence[str]) -> Backend:
    """Load the model and lay the search space over the agent's `modules`.

    Raises EnvironmentFailure when the model or device is missing, ConfigError when the space does not fit the model.
    """
    if config.backend.name == "synthetic":
        return _synthetic(config, modules)
    if config.backend.name == "ray":
        return _ray(config, modules)
    if config.backend.name not in ("hf", "vllm"):
        raise ConfigError(f"backend.name={config.backend.name!r}: expected {', '.join(BACKENDS)}")
    # Imported here: a dry run must not pay for torch.
    import torch

    from esagent.backends.hf.backend import HFBackend
    from esagent.models.loading import load, pick_device, pick_dtype
    from esagent.models.registry import resolve
    from esagent.spaces.registry import make_space

    if config.backend.threads or "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(config.backend.threads or len(os.sched_getaffinity(0)))
    device = pick_device(config.backend.device)
    if config.backend.name == "vllm":
        return _vllm(config, modules, device)
    model, tokenizer = load(resolve(config.model), pick_dtype(config.model.dtype, device), device)
    return HFBackend(model, tokenizer, make_space(config.space, model, modules), config.backend)


def number_format(config: Config) -> DType:
    """Of the weights during generation."""
    chosen = config.backend.engine.dtype
    return config.model.dtype if chosen is DType.auto else chosen


def _vllm(config: Config, modules: Sequence[str], device: Any) -> Backend:
    import torch

    from esagent.backends.vllm.backend import VLLMBackend
    from esagent.backends.vllm.start import require
    from esagent.models.loading import load, pick_dtype
    from esagent.models.registry import resolve
    from esagent.spaces.registry import make_space

    on_cpu = device.type == "cpu"
    require(config.backend.device, on_cpu, config.backend.engine)
    model = resolve(config.model)
    beside, tokenizer = load(model, pick_dtype(number_format(config), device), torch.device("cpu"))
    space = make_space(config.space, beside, modules)
    return VLLMBackend(model.folder, beside, tokenizer, space, config.backend, on_cpu)


def _synthetic(config: Config, modules: Sequence[str]) -> Backend:
    from esagent.backends.synthetic.backend import SyntheticBackend
    from esagent.backends.synthetic.skills import make_skills
    from esagent.spaces.partitions import make_partition

    space = config.space
    searched = [name for name in modules if not space.modules or name in space.modules]
    partition = make_partition(space.partition, space.parts, space.redraw)
    return SyntheticBackend(make_skills(config.task.chain), searched, partition, space.noise.value)


def _ray(config: Config, modules: Sequence[str]) -> Backend:
    try:
        from esagent.backends.ray.make import make_pool
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise EnvironmentFailure("backend=ray needs Ray, which is not installed: pip install 'esagent[ray]'") from error
    return make_pool(config, modules)
