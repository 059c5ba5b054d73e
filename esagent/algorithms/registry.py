"""Search algorithms by name. They are compositions around one estimator (conf/algorithm/)."""

from __future__ import annotations

from esagent.algorithms.base import Strategy
from esagent.algorithms.es import EvolutionStrategy
from esagent.config.schema import AlgorithmConfig
from esagent.errors import ConfigError

ALGORITHMS = ("es", "es_at_scale", "eggroll", "copes", "agentic_esopt", "mezo")


def make_strategy(config: AlgorithmConfig, seed: int) -> Strategy:
    """The strategy `config` describes, its noise keyed by `seed`. Raises ConfigError for an unknown name."""
    if config.name not in ALGORITHMS:
        raise ConfigError(f"algorithm.name={config.name!r} is not known; choose from {', '.join(ALGORITHMS)}")
    return EvolutionStrategy(
        seed=seed,
        antithetic=config.antithetic,
        shaping=config.shaping.value,
        norm=config.update_norm.value,
        normalise=config.normalise.value,
        rule=config.rule.value,
        momentum=config.momentum,
        beta1=config.beta1,
        beta2=config.beta2,
        divide_by_sigma=config.divide_by_sigma,
        pull=config.pull,
        control=config.control.value,
    )
