"""What the synthetic environment needs, and what it has not (docs/synthetic.md)."""

from __future__ import annotations

from collections.abc import Iterator

from esagent.config import names
from esagent.config.nearest import suggest
from esagent.config.ranges import Range
from esagent.config.schema import ChainConfig, Config, Positions, TaskConfig
from esagent.config.workers import inner_name

_PARTITIONS = ("module", "whole", "random")
_SKILL = Range(0, 1, above=True)
_WIDTH = Range(0, 1e6, above=True)
_SIZE = Range(1, 1_000_000)
_SHARE = Range(0, 1)


def is_synthetic(config: Config) -> bool:
    """Whether answers come from formulas and no model is loaded."""
    return inner_name(config) == "synthetic"


def synthetic_problems(config: Config) -> Iterator[str]:
    """One line for every part that does not go with the others, and every value out of its range."""
    parts = {name: getattr(config, name).name for name in names.SYNTHETIC} | {"backend": inner_name(config)}
    mixed = [name for name, own in names.SYNTHETIC.items() if parts[name] != own or _target(config, name)]
    if len(mixed) == len(parts):
        yield from _unused(config.task)
        return
    for name in mixed:
        found = _target(config, name) or parts[name]
        given = next(part for part in names.SYNTHETIC if part not in mixed)
        yield (
            f"{name}={found}: {given}={parts[given]} needs {name}={names.SYNTHETIC[name]}; "
            "task=synthetic chooses all of them"
        )
    if not mixed:
        yield from _chain(config.task.chain)
        yield from _without_model(config)


def _target(config: Config, name: str) -> str | None:
    return getattr(getattr(config, name), "target", None)


def _unused(task: TaskConfig) -> Iterator[str]:
    for name, value in vars(task.chain).items():
        if value != getattr(ChainConfig(), name):
            yield f"task.chain.{name}={value}: is for the synthetic environment alone; choose task=synthetic"


def _chain(chain: ChainConfig) -> Iterator[str]:
    if not chain.modules:
        yield "task.chain.modules=[]: a chain needs at least one module"
    for module in sorted({name for name in chain.modules if chain.modules.count(name) > 1}):
        yield f"task.chain.modules: {module} named more than once"
    for path, value, allowed in (
        ("ceiling", chain.ceiling, _SKILL),
        ("size", chain.size, _SIZE),
        ("graded", chain.graded, _SHARE),
    ):
        if not allowed.holds(value):
            yield f"task.chain.{path}={value}: must be {allowed}"
    for name, width in chain.width.items():
        if not _WIDTH.holds(width):
            yield f"task.chain.width.{name}={width}: must be {_WIDTH}"
    for name, start in chain.start.items():
        if not _SKILL.holds(start):
            yield f"task.chain.start.{name}={start}: must be {_SKILL}"
        elif start > chain.ceiling:
            yield f"task.chain.start.{name}={start}: is above task.chain.ceiling={chain.ceiling}"
    for path, given in (("start", chain.start), ("width", chain.width)):
        for name in given:
            if name not in chain.modules and _known(name):
                continue  # of a chain that was made shorter
            if name not in chain.modules:
                yield f"task.chain.{path}.{name}: not a module of this chain; {suggest(name, chain.modules)}"
    for name in chain.modules:
        if name not in chain.start:
            yield f"task.chain.start: says nothing of module {name}; add task.chain.start.{name}=0.9"


def _known(name: str) -> bool:
    """Whether a module is one of those that conf/ describes, and may be left out of a shorter chain."""
    return name in names.MODULES["chain"]


def _without_model(config: Config) -> Iterator[str]:
    """Settings of language models, and budgets that nothing is counted against."""
    space = config.space
    if space.partition in names.PARTITIONS and space.partition not in _PARTITIONS:
        yield f"space.partition={space.partition}: skills have no layers; choose {', '.join(_PARTITIONS)}"
    for name, expected in (("layers", "all"), ("sites", []), ("positions", Positions.all)):
        value = getattr(space, name)
        if value != expected:
            shown = getattr(value, "value", value)
            yield f"space.{name}={shown}: space=skills has none; leave it out"
    if config.budget.flops is not None:
        yield f"budget.flops={config.budget.flops:g}: no model computes anything here; use budget=steps"
    if config.backend.device not in ("auto", "cpu"):
        yield f"backend.device={config.backend.device}: backend=synthetic runs on the CPU; leave it out"
