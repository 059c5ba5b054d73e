"""Which compositions contradict themselves: a method's name against its parts, and options against each other.

A published method is a composition of space, blocks, allocation, shaping and step. What makes it that method must hold
under its name; everything else is free, and `es` is free altogether.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from esagent.config.schema import AlgorithmConfig, AllocationWrap, Config, Rule, ScheduleKind, Shaping, StepFollows

DEFINING: dict[str, dict[str, object]] = {
    "es_at_scale": {"allocation.name": "joint"},
    "eggroll": {"space.name": "lowrank", "allocation.name": "joint"},
    "copes": {"space.partition": "random", "allocation.name": "uniform", "allocation.wrap": AllocationWrap.none},
    "agentic_esopt": {"allocation.name": "joint"},
    "mezo": {
        "allocation.name": "joint",
        "algorithm.antithetic": True,
        "algorithm.shaping": Shaping.none,
        "algorithm.divide_by_sigma": True,
    },
}
"""What makes a composition the method it is called after, by path."""


def method_problems(config: Config) -> Iterator[str]:
    """One line for every contradiction."""
    yield from _name(config)
    yield from _rule(config.algorithm)
    yield from _sigma(config)
    yield from _pull(config)
    if config.algorithm.shaping is Shaping.block_zscore and config.allocation.name == "joint":
        yield (
            "algorithm.shaping=block_zscore: allocation=joint perturbs all blocks with every direction; choose "
            "algorithm.shaping=zscore"
        )


def _name(config: Config) -> Iterator[str]:
    name = config.algorithm.name
    for path, needed in DEFINING.get(name, {}).items():
        found = reduce(getattr, path.split("."), config)
        if found != needed:
            path = path.removesuffix(".name")
            yield f"{path}={_text(found)}: algorithm.name={name} means {path}={_text(needed)}; or choose algorithm=es"


def _rule(algorithm: AlgorithmConfig) -> Iterator[str]:
    for name in ("beta1", "beta2"):
        value = getattr(algorithm, name)
        if algorithm.rule is not Rule.adam and value != getattr(AlgorithmConfig, name):
            yield (
                f"algorithm.{name}={value}: algorithm.rule={algorithm.rule.value} has none; choose algorithm.rule=adam"
            )


def _sigma(config: Config) -> Iterator[str]:
    sigma, algorithm = config.sigma, config.algorithm
    if sigma.schedule is ScheduleKind.constant or sigma.end > 0:
        return
    if algorithm.divide_by_sigma:
        yield f"sigma.end={sigma.end}: algorithm.divide_by_sigma=true cannot divide by it; above 0 is needed"


def _pull(config: Config) -> Iterator[str]:
    """A pull of more than 1 in one step would overshoot the start, and ever further."""
    algorithm, sigma = config.algorithm, config.sigma
    largest = max(algorithm.step.start, 0.0 if algorithm.step.schedule is ScheduleKind.constant else algorithm.step.end)
    if algorithm.step_follows is StepFollows.sigma:
        largest *= max(sigma.start, 0.0 if sigma.schedule is ScheduleKind.constant else sigma.end)
    if algorithm.pull * largest > 1:
        yield (
            f"algorithm.pull={algorithm.pull}: times a step size of {largest:g} is above 1 and overshoots the start; "
            f"at most {1 / largest:g}"
        )


def _text(value: object) -> str:
    found = getattr(value, "value", value)
    return str(found).lower() if isinstance(found, bool) else str(found)
