"""Rows of the backends' contract: pools of two workers. Nothing here needs Ray before a row is run."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esagent.backends.base import Backend
from esagent.config.schema import BackendConfig, Config, DType, ModelConfig, Positions, SpaceConfig
from tests.helpers.tiny import HYBRID, make_tiny_folder
from tests.helpers.vector import MODULES

_needs_ray = [
    pytest.mark.engine,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="backend=ray needs Ray"),
]


@functools.cache
def _folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A tiny model on disk, where workers find it, until the tests are over."""
    folder = tempfile.TemporaryDirectory(prefix="tiny-")
    make_tiny_folder(Path(folder.name), kind)
    return folder


def _pool(kind: str, space: SpaceConfig) -> Backend:
    from esagent.backends.ray import cluster
    from esagent.backends.ray.backend import RayBackend
    from esagent.backends.ray.make import split_of
    from esagent.backends.ray.pool import Pool
    from esagent.backends.ray.traffic import Traffic
    from esagent.backends.ray.wire import pack
    from tests.ray.processes import give_back, take

    cluster.connect(None, 2)
    model = ModelConfig("tiny", _folder(kind).name, dtype=DType.float32)
    inner = Config(model=model, backend=BackendConfig("hf", threads=1), space=space)
    pool = Pool(pack((inner, MODULES)), 2, take, limit=120, spares=0, traffic=Traffic())
    made = RayBackend(pool, split_of(inner))
    weakref.finalize(made, give_back, pool).atexit = False
    return made


def row(called: str, kind: str, **space: Any) -> Any:
    make: Callable[[], Backend] = functools.partial(_pool, kind, SpaceConfig(layers="2-3", **space))
    return pytest.param(make, id=called, marks=_needs_ray)


POOLS = [
    row("ray-bias", "llama", name="bias", positions=Positions.answer),
    row("ray-core", "qwen3", name="core", sites=["o_proj", "down_proj"], rank=4, positions=Positions.all),
    row("ray-hybrid-bias", HYBRID, name="bias", positions=Positions.answer),
]
