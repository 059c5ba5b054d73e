"""Names to spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from esagent.config.names import SPACES, WEIGHT_SPACES
from esagent.config.schema import Positions, SpaceConfig
from esagent.core.laws import Law
from esagent.errors import ConfigError
from esagent.spaces.base import Space
from esagent.spaces.bias import BiasSpace
from esagent.spaces.core import CoreSpace
from esagent.spaces.full import FullSpace
from esagent.spaces.lora import LoraSpace
from esagent.spaces.lowrank import LowRankSpace, matrices
from esagent.spaces.named import find_parameters
from esagent.spaces.partitions import make_partition
from esagent.spaces.sites import find_sites


def make_space(config: SpaceConfig, model: Any, modules: Sequence[str]) -> Space:
    """The space over `model` for the agent's `modules`. Raises ConfigError naming what does not fit."""
    unknown = [m for m in config.modules if m not in modules]
    if unknown:
        raise ConfigError(f"space.modules: {unknown[0]!r} is no module of this agent; it has {', '.join(modules)}")
    partition = make_partition(
        config.partition, config.parts, config.redraw, model.device if config.name in WEIGHT_SPACES else "cpu"
    )
    law: Law = config.noise.value
    if config.name in WEIGHT_SPACES:
        found = find_parameters(model, config.include, config.exclude)
        depth, keeping = len(model.model.layers), (config.scale == "relative", config.precision == "master")
        if config.name == "full":
            return FullSpace(found, depth, partition, *keeping, law)
        if config.vectors == "none":
            found = matrices(found)
        return LowRankSpace(model, found, depth, partition, config.rank, *keeping, law)
    searched = [m for m in modules if not config.modules or m in config.modules]
    sites = find_sites(model, config.layers, config.sites)
    only = config.positions is Positions.answer
    if config.name == "bias":
        return BiasSpace(sites, searched, partition, only, law)
    if config.name == "core":
        return CoreSpace(sites, searched, partition, config.rank, config.init, only, law)
    if config.name == "lora":
        return LoraSpace(sites, searched, partition, config.rank, config.sigma_a, config.sigma_b, only, law)
    raise ConfigError(f"space.name={config.name!r}: expected {', '.join(SPACES)}")
