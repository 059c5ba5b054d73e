"""What an allocation scheme is: a pure function from what is known about the modules to shares and scales.

Arrays are [..., M], one number for each of M modules; leading axes (seeds of a study, say) are carried along. A scheme
treats all modules alike: with the modules in another order, its shares come in that order too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Signals:
    """What is known about the modules before step `step`.

    All are [..., M]. credit: >= 0 and of sum 1. reached: the probability that an episode reaches a module with nothing
    gone wrong before, in [0, 1]. draws: uniform in [0, 1). bottleneck: true for the module that is known to hold the
    agent back, nowhere when none is.
    """

    step: int
    credit: Floats
    reached: Floats
    draws: Floats
    bottleneck: NDArray[np.bool_]


@dataclass(frozen=True)
class Shares:
    """p: shares of a step's directions, of sum 1. variance: sigma_m^2 / sigma^2. Both [..., M]."""

    p: Floats
    variance: Floats


class Scheme(Protocol):
    """One way to spend a step's directions on modules; a direction perturbs exactly one."""

    def shares(self, signals: Signals) -> Shares:
        """The shares and scales for one step."""
        ...


def equal_shares(like: Floats) -> Floats:
    """1/M for every module: [..., M]."""
    return np.full_like(like, 1.0 / like.shape[-1], dtype=np.float64)


def of_one_sigma(p: Floats) -> Shares:
    """Shares whose perturbations all have the same sigma."""
    return Shares(p, np.ones_like(p))
