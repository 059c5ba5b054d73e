"""Longer steps after a pause: a module that had no direction in k steps moves 1 + k times as far in its next one.

So its expected movement is that of a module which was never left out, with as few directions as before.
"""

from __future__ import annotations

import numpy as np

from esagent.allocation.scheme import Floats, Ints


def caught_up(counts: Ints, waited: Ints) -> Floats:
    """Factor on the step size [..., M] for modules that get `counts` directions after `waited` steps without one."""
    return np.where(counts > 0, 1.0 + waited, 1.0)
