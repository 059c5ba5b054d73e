"""Names to spaces."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from esagent.config.schema import Positions, SpaceConfig
from esagent.errors import ConfigError
from esagent.spaces.base import AdapterSpace
from esagent.spaces.bias import BiasSpace
from esagent.spaces.core import CoreSpace
from esagent.spaces.forms import Dense
from esagent.spaces.partitions import make_partition
from esagent.spaces.sites import find_sites


def make_space(config: SpaceConfig, model: nn.Module, modules: Sequence[str]) -> AdapterSpace:
    """The space over `model` for the agent's `modules`. Raises ConfigError naming what does not fit."""
    unknown = [m for m in config.modules if m not in modules]
    if unknown:
        raise ConfigError(f"space.modules: {unknown[0]!r} is no module of this agent; it has {', '.join(modules)}")
    searched = [m for m in modules if not config.modules or m in config.modules]
    sites = find_sites(model, config.layers, config.sites)
    partition = make_partition(config.partition, config.parts, config.redraw)
    only, form = config.positions is Positions.answer, Dense(config.noise.value)
    if config.name == "bias":
        return BiasSpace(sites, searched, partition, only, form)
    if config.name == "core":
        return CoreSpace(sites, searched, partition, config.rank, config.init, only, form)
    raise ConfigError(f"space.name={config.name!r}: expected bias or core")
