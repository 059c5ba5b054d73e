"""A credit-free floor under any scheme: a share phi of all directions is reserved and dealt to the modules in turn.

The slots reserved up to direction S of the run are floor(phi S), and slot j belongs to module j mod M. Any W
consecutive steps of N directions hold at least floor(phi N W) of them in a row, so every module gets at least
floor(phi N W / M) directions in any W consecutive steps, for every W. The scheme spends the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from esagent.allocation.scheme import Ints


def reserved(before: int, directions: int, phi: float, modules: int) -> Ints:
    """Reserved directions [M] of a step of `directions` that follows `before` directions of earlier steps."""
    share = Fraction(str(phi))  # exact: 0.3 means three tenths
    first, last = math.floor(share * before), math.floor(share * (before + directions))
    return np.bincount(np.arange(first, last) % modules, minlength=modules).astype(np.int64)
