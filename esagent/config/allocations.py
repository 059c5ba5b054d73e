"""Which allocations contradict the rest of a configuration, or lack what they need."""

from __future__ import annotations

from collections.abc import Iterator

from esagent.config import names
from esagent.config.blocks import searched_blocks, searched_modules
from esagent.config.nearest import suggest
from esagent.config.schema import (
    AllocationConfig,
    AllocationWrap,
    Config,
    CreditSource,
    Normalise,
    Objective,
    StepFollows,
    UpdateNorm,
)


def allocation_problems(config: Config, depth: int | None) -> Iterator[str]:
    """One line for every contradiction. depth: number of layers of the model, None when it is not known yet."""
    name, wrap = config.allocation.name, config.allocation.wrap
    if name == "joint" and wrap is not AllocationWrap.none:
        yield (
            f"allocation.wrap={wrap.value}: allocation=joint perturbs every block with every direction, so none is "
            "ever left out; choose allocation.wrap=none"
        )
    yield from _unused(config.allocation)
    yield from _bottleneck(config, depth)
    if name in names.CREDITED:
        yield from _credit(config)
    modules = searched_modules(config)
    if name in (*names.CREDITED, "random") and config.space.partition == "module" and len(modules) == 1:
        yield f"allocation={name}: {modules[0]} is all that is searched, and gets every direction; choose uniform"
    algorithm = config.algorithm
    if algorithm.update_norm is UpdateNorm.total and algorithm.normalise is Normalise.block:
        yield (
            "algorithm.update_norm=total: algorithm.normalise=block divides each block's mean by its own RMS, so "
            "that it does not matter over how many it was taken; choose algorithm.normalise=none or total"
        )


def _unused(allocation: AllocationConfig) -> Iterator[str]:
    """Settings that the chosen scheme or wrap does not look at."""
    if allocation.phi != AllocationConfig.phi and allocation.wrap is not AllocationWrap.floor:
        yield f"allocation.phi={allocation.phi}: is for a floor alone; choose allocation.wrap=floor"
    if allocation.starvation != AllocationConfig.starvation and allocation.name != "starve":
        yield f"allocation.starvation={allocation.starvation}: is for allocation=starve alone"
    if allocation.step_follows is StepFollows.sigma and allocation.name not in ("sigma", "soft_sigma"):
        yield (
            f"allocation.step_follows=sigma: allocation={allocation.name} scales no sigma; choose allocation=sigma or "
            "soft_sigma"
        )


def _bottleneck(config: Config, depth: int | None) -> Iterator[str]:
    name, bottleneck = config.allocation.name, config.allocation.bottleneck
    blocks = searched_blocks(config, depth)
    if name not in ("oracle", "starve"):
        if bottleneck is not None:
            yield f"allocation.bottleneck={bottleneck}: allocation={name} asks for none; choose oracle or starve"
        return
    if bottleneck is None:
        example = blocks[0] if blocks else "caller"
        yield (
            f"allocation.bottleneck=null: allocation={name} has to be told which block holds the agent back, as in "
            f"allocation.bottleneck={example}"
        )
    elif blocks and bottleneck not in blocks:
        yield f"allocation.bottleneck={bottleneck}: not a block that is searched; {suggest(bottleneck, blocks)}"
    elif name == "starve" and len(blocks) == 1:
        yield f"allocation=starve: {blocks[0]} is all that is searched; nothing else could have its directions"


def _credit(config: Config) -> Iterator[str]:
    """Credit is given to modules, by episodes whose family says which of them were right."""
    name = config.allocation.name
    if config.space.partition != "module":
        yield (
            f"allocation={name}: goes by credit, which modules have and the blocks of space.partition="
            f"{config.space.partition} have not; choose allocation=uniform, or a space with space.partition=module"
        )
    if config.task.target is None and config.task.name == "jsonl":
        yield f"allocation={name}: goes by credit, and task=jsonl does not say which module failed; choose uniform"
    if config.objective is Objective.likelihood and config.credit.source is CreditSource.members:
        yield (
            f"allocation={name}: goes by credit, and with objective=likelihood members run no episodes that could "
            "fail; choose credit.source=unperturbed"
        )
