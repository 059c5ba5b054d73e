"""The blocks that a configuration searches, as far as they are known before the model is there."""

from __future__ import annotations

from esagent.config import names
from esagent.config.layers import parse_layers
from esagent.config.schema import Config
from esagent.errors import ConfigError


def agent_modules(config: Config) -> tuple[str, ...]:
    """The modules of the agent, in order; empty when only a user's agent knows them."""
    if config.agent.target is None and config.agent.name == "chain":
        return tuple(config.task.chain.modules)
    return () if config.agent.target else names.MODULES.get(config.agent.name, ())


def searched_modules(config: Config) -> tuple[str, ...]:
    """The modules whose parameters are searched, in the agent's order; empty when only a user's agent knows them."""
    return tuple(
        module for module in agent_modules(config) if not config.space.modules or module in config.space.modules
    )


def searched_blocks(config: Config, depth: int | None) -> tuple[str, ...]:
    """The blocks of the partition; empty when only the agent or the model knows them.

    depth: number of layers of the model, None when it is not known yet.
    """
    space = config.space
    if space.partition == "whole":
        return ("whole",)
    if space.partition == "random":
        return tuple(f"part-{part}" for part in range(space.parts))
    if space.partition == "module":
        return searched_modules(config)
    if space.name in names.WEIGHT_SPACES:
        return ()  # a matter of the parameters' names
    if space.partition == "kind":
        return tuple(space.sites)
    try:
        return tuple(f"layer-{layer:02d}" for layer in parse_layers(space.layers, depth))
    except ConfigError:  # told where layers are checked
        return ()


def sigma_factors(config: Config) -> dict[str, float]:
    """`sigma.modules` by block: what an agent says of its modules means nothing where blocks are not modules."""
    modules = () if config.space.partition == "module" else names.MODULES.get(config.agent.name, ())
    return {name: factor for name, factor in config.sigma.modules.items() if name not in modules}
