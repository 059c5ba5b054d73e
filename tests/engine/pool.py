"""Backends on the real vLLM, kept: an engine takes seconds to start, so a used one is set back instead."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from esagent.backends.hf.backend import HFBackend
from esagent.backends.hf.jobs import Meter
from esagent.config.schema import BackendConfig, EngineConfig, Positions, SpaceConfig
from esagent.core.episode import Cost
from esagent.models.loading import load
from esagent.models.registry import ResolvedModel
from esagent.spaces.registry import make_space
from tests.helpers.tiny import make_tiny_folder
from tests.helpers.vector import MODULES

SMALL = EngineConfig(kv_cache_gb=0.05, max_model_len=512, max_num_seqs=32, max_loras=8)
EVERYWHERE = Positions.all

SPACES: dict[str, tuple[str, SpaceConfig]] = {
    "bias": ("llama", SpaceConfig("bias", "1-2")),
    "bias-everywhere": (
        "qwen2",
        SpaceConfig("bias", "1-2", ["q_proj", "v_proj", "up_proj", "o_proj"], positions=EVERYWHERE),
    ),
    "core": ("qwen2", SpaceConfig("core", "1-2", ["k_proj", "gate_proj", "o_proj"], rank=4)),
    "lora": ("llama", SpaceConfig("lora", "1-2", rank=3, sigma_a=0.5, positions=EVERYWHERE)),
    "full": ("llama", SpaceConfig("full", "all", [], positions=EVERYWHERE, partition="whole")),
    "full-untied": ("qwen2", SpaceConfig("full", "all", [], positions=EVERYWHERE, partition="kind", scale="relative")),
    "lowrank": (
        "qwen2",
        SpaceConfig(
            "lowrank",
            "all",
            [],
            positions=EVERYWHERE,
            partition="whole",
            scale="relative",
            rank=2,
            vectors="none",
            include=["_proj"],
        ),
    ),
    "lowrank-everything": (
        "llama",
        SpaceConfig("lowrank", "all", [], positions=EVERYWHERE, partition="whole", scale="relative", rank=1),
    ),
}
"""Kind of tiny model, and space, of each way that members take: vectors, adapters, written."""


@functools.cache
def folder(kind: str) -> Path:
    """A tiny model whose heads are as wide as vLLM's kernels for CPUs need them."""
    return make_tiny_folder(Path(tempfile.mkdtemp()) / kind, kind, layers=3, hidden=128)


def parts(name: str) -> tuple[Path, Any, Any, Any]:
    """Folder, model, tokenizer and space of a row of `SPACES`."""
    kind, config = SPACES[name]
    where = folder(kind)
    model, tokenizer = load(ResolvedModel(kind, where, None, ""), torch.float32, torch.device("cpu"))
    return where, model, tokenizer, make_space(config, model, MODULES)


def hf(name: str) -> HFBackend:
    """The same on backend hf."""
    _, model, tokenizer, space = parts(name)
    return HFBackend(model, tokenizer, space, BackendConfig())


def fresh(name: str, **options: Any) -> Any:
    """A new engine."""
    from esagent.backends.vllm.backend import VLLMBackend

    where, model, tokenizer, space = parts(name)
    config = BackendConfig("vllm", engine=dataclasses.replace(SMALL, **options))
    return VLLMBackend(where, model, tokenizer, space, config, not torch.cuda.is_available())


@functools.cache
def _pair(name: str) -> tuple[Iterator[Any], Path]:
    made = [fresh(name), fresh(name)]
    start = Path(tempfile.mkdtemp()) / "start.safetensors"
    made[0].save(start)
    return itertools.cycle(made), start


def maker(name: str) -> Callable[[], Any]:
    """Makes backends as good as new; of one row no more than two are in use at a time."""

    def make() -> Any:
        backends, start = _pair(name)
        backend = next(backends)
        backend.load(start)
        backend._cost = Cost()
        for field in dataclasses.fields(Meter):
            setattr(backend.meter, field.name, 0)
        return backend

    return make
