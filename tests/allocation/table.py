"""All schemes under all wraps, as they are built from settings, and what they are asked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from esagent.allocation.base import Allocation, Allocator, Evidence
from esagent.allocation.history import History
from esagent.allocation.registry import ALLOCATIONS, SCHEMES, make_allocator
from esagent.allocation.scheme import Signals
from esagent.config.schema import AllocationConfig, AllocationWrap, CreditConfig
from esagent.core.population import Block

WRAPS = tuple(AllocationWrap)
ROUTED = [(name, wrap) for name in SCHEMES for wrap in WRAPS]
EVERY = [*ROUTED, ("joint", AllocationWrap.none)]
assert {name for name, _ in EVERY} == set(ALLOCATIONS)


def made(name: str, wrap: AllocationWrap = AllocationWrap.none, phi: float = 0.5, tau: float = 0.7) -> Allocator:
    """The allocation called `name` under `wrap`; where a bottleneck is asked for, it is block `b`."""
    bottleneck = "b" if name in ("oracle", "starve") else None
    config = AllocationConfig(name, wrap, phi, bottleneck, 0.6 if name == "starve" else 0.0)
    return make_allocator(config, CreditConfig(tau=tau), seed=5)


def ask(
    scheme: Allocator, names: Sequence[str], step: int, directions: int, evidence: Evidence | None = None
) -> Allocation:
    """One step over blocks of these names, the base sigma of each told by its name."""
    blocks = [Block(name, 10) for name in names]
    return scheme.allocate(
        step=step, blocks=blocks, directions=directions, sigma=base(names), evidence=evidence or Evidence()
    )


def base(names: Sequence[str]) -> dict[str, float]:
    """Sigma of each block before an allocation scales it."""
    return {name: 0.1 * (1 + sum(map(ord, name)) % 7) for name in names}


def follow(
    scheme: Allocator, names: Sequence[str], directions: Sequence[int], beliefs: Sequence[Mapping[str, float]]
) -> tuple[list[Allocation], History]:
    """A run of steps, each with the credit that it is given (and half of it as propensity)."""
    history, found = History(), []
    for step, (count, belief) in enumerate(zip(directions, beliefs, strict=True)):
        reached = {name: 1 - value / 2 for name, value in belief.items()}
        found.append(ask(scheme, names, step, count, Evidence(belief, reached, history)))
        history = history.after(found[-1].counts(), found[-1].target, count)
    return found, history


def signals(credit: object, reached: object = 1.0, draws: object = 0.5, bottleneck: object = False, step: int = 0):
    """Signals of one shape from what is given."""
    shape = np.shape(credit)
    full = [np.broadcast_to(np.asarray(value, dtype=float), shape).copy() for value in (credit, reached, draws)]
    return Signals(step, *full, np.broadcast_to(np.asarray(bottleneck, dtype=bool), shape))
