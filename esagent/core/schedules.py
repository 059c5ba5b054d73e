"""Schedules of sigma and of the step size: functions from a step (0-based) to a value.

All share one clock. With T steps of which W are warm-up, u(t) = (t - W) / (T - 1 - W) runs from exactly 0 to exactly 1,
so both ends of a schedule are hit (Agentic ESOpt, arXiv 2608.17310, as in its code). When only one step is left after
the warm-up it takes the start value. During warm-up the value rises linearly, start * (t + 1) / (W + 1), and is never
0: a step without perturbation would cost as much as any other. After the last step the end value holds.

Where T is not known beforehand, a call gives the number of steps that is expected by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from esagent.errors import ConfigError


class Schedule(Protocol):
    """The value at step `t` of a run of `steps` steps: as many as the schedule was made for, unless they are given."""

    def __call__(self, t: int, steps: int = ..., /) -> float: ...


def constant_schedule(start: float, *, steps: int, warmup: int = 0) -> Schedule:
    """f(u) = start."""
    return _clocked(lambda u: start, start, start, steps, warmup)


def linear_schedule(start: float, end: float, *, steps: int, warmup: int = 0) -> Schedule:
    """f(u) = start + (end - start) u."""
    return _clocked(lambda u: start + (end - start) * u, start, end, steps, warmup)


def cosine_schedule(start: float, end: float, *, steps: int, warmup: int = 0) -> Schedule:
    """f(u) = end + (start - end) (1 + cos(pi u)) / 2.

    sigma_t of Agentic ESOpt (arXiv 2608.17310) with sigma_0 = start and sigma_T = end; the shape is that of Loshchilov
    and Hutter 2017 (SGDR, arXiv 1608.03983, equation 5).
    """
    return _clocked(lambda u: end + (start - end) * (1.0 + math.cos(math.pi * u)) / 2.0, start, end, steps, warmup)


def exponential_schedule(start: float, end: float, *, steps: int, warmup: int = 0) -> Schedule:
    """f(u) = start (end / start)^u; both ends must be above 0."""
    if not (start > 0 and end > 0):
        raise ConfigError(f"an exponential schedule needs start and end above 0, not {start:g} and {end:g}")
    return _clocked(lambda u: start * (end / start) ** u, start, end, steps, warmup)


def make_schedule(kind: str, start: float, end: float, *, steps: int, warmup: int = 0) -> Schedule:
    """The schedule named `kind` over `steps` steps.

    Raises ConfigError for an unknown kind, a negative or non-finite end, fewer than 1 step, or a warm-up that leaves
    no step after it.
    """
    if kind == "constant":
        return constant_schedule(start, steps=steps, warmup=warmup)
    shapes = {"linear": linear_schedule, "cosine": cosine_schedule, "exponential": exponential_schedule}
    if kind not in shapes:
        raise ConfigError(f"unknown schedule {kind!r}; choose from constant, {', '.join(shapes)}")
    return shapes[kind](start, end, steps=steps, warmup=warmup)


def _clocked(shape: Callable[[float], float], start: float, end: float, steps: int, warmup: int) -> Schedule:
    for name, limit in (("start", start), ("end", end)):
        if not (math.isfinite(limit) and limit >= 0):
            raise ConfigError(f"schedule {name} must be finite and at least 0, not {limit:g}")
    if steps < 1:
        raise ConfigError(f"a schedule needs at least 1 step, not {steps}")
    if not 0 <= warmup < steps:
        raise ConfigError(f"warmup must be between 0 and {steps - 1} for {steps} steps, not {warmup}")

    def value(t: int, steps: int = steps, /) -> float:
        last = steps - 1
        if t < warmup:
            return start * (t + 1) / (warmup + 1)
        # The ends are returned as given: end + (start - end) need not equal start in floating point.
        if t <= warmup:
            return start
        if t >= last:
            return end
        return shape((t - warmup) / (last - warmup))

    return value
