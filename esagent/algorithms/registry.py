"""Search algorithms by name."""

from __future__ import annotations

from esagent.algorithms.base import Strategy
from esagent.algorithms.es import EvolutionStrategy
from esagent.config.schema import AlgorithmConfig
from esagent.errors import ConfigError

ALGORITHMS = ("es",)


def make_strategy(config: AlgorithmConfig, seed: int) -> Strategy:
    """The strategy `config` describes, its noise keyed by `seed`. Raises ConfigError for an unknown name."""
    if config.name != "es":
        raise ConfigError(f"algorithm.name={config.name!r} is not known; choose from {', '.join(ALGORITHMS)}")
    return EvolutionStrategy(
        seed=seed,
        antithetic=config.antithetic,
        shaping=config.shaping.value,
        norm=config.update_norm.value,
        normalise=config.normalise.value,
        rule=config.rule.value,
        momentum=config.momentum,
    )
