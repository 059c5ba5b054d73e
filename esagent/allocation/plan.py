"""One step of any scheme under any wrap, as arrays: from shares to whole directions and scales, and the account of it.

    p, v        = scheme                        shares and variances (sigma_m^2 / sigma^2)
    p           = in_bursts(p)                  with wrap=burst
    reserved    = a share phi of all directions with wrap=floor, else none
    counts      = reserved + whole(rest of N, by p and what is owed)
    sigma_m     = sigma sqrt(v_m)
    alpha_m     = alpha [sqrt(v_m)] [1 + waited]   the first with step_follows=sigma, the second with wrap=catchup

Everything is [..., M] and pure; leading axes are carried along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from esagent.allocation.burst import in_bursts
from esagent.allocation.catchup import caught_up
from esagent.allocation.floor import reserved
from esagent.allocation.rounding import whole
from esagent.allocation.scheme import Floats, Ints, Scheme, Signals

WrapName = Literal["none", "floor", "burst", "catchup"]


@dataclass(frozen=True)
class Wrap:
    """What is put around a scheme. phi: share of the directions that a floor reserves, 0 to 1."""

    name: WrapName = "none"
    phi: float = 0.5


@dataclass(frozen=True)
class Past:
    """What a plan needs of the steps before.

    directions: of all of them. owed: [..., M], directions that a module was to have less those it had.
    waited: [..., M], steps since it last had one. left_out: [..., M], steps since it last had a share, however small.
    """

    directions: int
    owed: Floats
    waited: Ints
    left_out: Ints


@dataclass(frozen=True)
class Plan:
    """target: real number of directions, counts: whole ones, of the same sum; sigma, step: factors; all [..., M]."""

    target: Floats
    counts: Ints
    sigma: Floats
    step: Floats


def no_past(shape: tuple[int, ...]) -> Past:
    """Before the first step, for arrays of `shape` [..., M]."""
    return Past(0, np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))


def plan(
    scheme: Scheme, wrap: Wrap, signals: Signals, past: Past, directions: int, *, step_follows_sigma: bool = False
) -> Plan:
    """Spend exactly `directions`."""
    shares = scheme.shares(signals)
    p = in_bursts(shares.p, past.left_out) if wrap.name == "burst" else shares.p
    kept = reserved(past.directions, directions, wrap.phi if wrap.name == "floor" else 0.0, p.shape[-1])
    free = directions - int(kept.sum())
    counts = kept + (whole(past.owed, free * p, free) if free else np.zeros(p.shape, dtype=np.int64))
    sigma = np.sqrt(shares.variance)
    step = sigma if step_follows_sigma else np.ones_like(sigma)
    if wrap.name == "catchup":
        step = step * caught_up(counts, past.waited)
    return Plan(kept + free * p, counts, sigma, step)


def after(past: Past, made: Plan) -> Past:
    """The past of the next step."""
    return Past(
        past.directions + int(made.counts.reshape(-1, made.counts.shape[-1])[0].sum()),
        past.owed + made.target - made.counts,
        np.where(made.counts > 0, 0, past.waited + 1),
        np.where(made.target > 0, 0, past.left_out + 1),
    )
