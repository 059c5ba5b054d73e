"""Allocation schemes by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from esagent.allocation.base import Allocator
from esagent.allocation.joint import Joint
from esagent.allocation.uniform import Uniform
from esagent.config.schema import AllocationConfig
from esagent.errors import ConfigError

SCHEMES: dict[str, Callable[[], Allocator]] = {"uniform": Uniform, "joint": Joint}


def make_allocator(config: AllocationConfig) -> Allocator:
    """The scheme `config` names. Raises ConfigError for an unknown name, with the nearest known one."""
    if config.name not in SCHEMES:
        near = get_close_matches(config.name, SCHEMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(SCHEMES)}"
        raise ConfigError(f"allocation.name={config.name!r} is not known; {hint}")
    return SCHEMES[config.name]()
