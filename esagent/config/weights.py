"""Settings that belong to spaces over the model's own parameters, and those that mean nothing to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from esagent.config import names
from esagent.config.nearest import suggest
from esagent.config.schema import Config, DType, Positions, SpaceConfig

_OWN = ("include", "exclude", "scale", "precision")


def weight_problems(config: Config) -> Iterator[str]:
    """One line for each setting that contradicts the space, or cannot be read."""
    space = config.space
    for path, value, choices in (
        ("scale", space.scale, names.SCALES),
        ("precision", space.precision, names.PRECISIONS),
    ):
        if value not in choices:
            yield f"space.{path}={value}: {suggest(value, choices)}"
    if space.name not in names.WEIGHT_SPACES:
        for name in _OWN:
            if getattr(space, name) != getattr(SpaceConfig(), name):
                others = " or ".join(f"space={other}" for other in names.WEIGHT_SPACES)
                yield f"space.{name}={_shown(getattr(space, name))}: space={space.name} has none; choose {others}"
        return
    for field in ("include", "exclude"):
        for text in getattr(space, field):
            try:
                re.compile(text)
            except re.error as error:
                yield f"space.{field}={text!r}: is no regular expression ({error})"
    if space.precision == "stochastic" and config.model.dtype is DType.float32:
        yield (
            "space.precision=stochastic: rounds to bfloat16, and model.dtype=float32 needs no rounding; choose "
            "space.precision=master or model.dtype=bfloat16"
        )
    yield from _shared(space)


def _shared(space: SpaceConfig) -> Iterator[str]:
    """What tells single layers, modules or positions apart."""
    by_name = f"space={space.name} chooses parameters by name; use space.include and space.exclude"
    if space.positions is not Positions.all:
        moved = f"space={space.name} moves the model's weights"
        yield f"space.positions={space.positions.value}: {moved}; use space.positions=all"
    if space.modules:
        shared = f"space={space.name} moves weights that all modules share"
        yield f"space.modules={_shown(space.modules)}: {shared}; leave it out"
    if space.partition == "module":
        others = "whole, layer, kind or random" if space.name == "full" else "whole, layer or kind"
        yield f"space.partition=module: space={space.name} has none of single modules; choose {others}"
    if space.partition == "random" and space.name == "lowrank":
        yield "space.partition=random: space=lowrank has one sigma per matrix; choose whole, layer or kind"
    if space.layers != "all":
        yield f"space.layers={space.layers}: {by_name}"
    if space.sites:
        yield f"space.sites={_shown(space.sites)}: {by_name}"


def _shown(value: object) -> str:
    return f"[{','.join(value)}]" if isinstance(value, list) else str(value)
