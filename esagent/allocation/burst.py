"""The same number of directions, in bursts: what a module had to do without is paid when it is its turn again.

A module whose scheme funds it again after k steps without a share gets (1 + k) p_m of the step, all such modules
together at most all of it; the others share the rest as the scheme has them. One step with many directions is still one
step: under `update_norm=block` a module in bursts makes as few steps as one that was starved.
"""

from __future__ import annotations

import numpy as np

from esagent.allocation.scheme import Floats, Ints


def in_bursts(p: Floats, left_out: Ints) -> Floats:
    """Shares [..., M] after p [..., M], for modules without a share in the last `left_out` [..., M] steps."""
    due = np.where(left_out > 0, (1.0 + left_out) * p, 0.0)
    claimed = due.sum(axis=-1, keepdims=True)
    others = np.where(left_out > 0, 0.0, p)
    rest = others.sum(axis=-1, keepdims=True)
    paid = np.where(rest > 0, np.minimum(claimed, 1.0), 1.0)  # with nobody else, those that are due share it all
    paid = np.where(claimed > 0, paid, 0.0)
    mine = np.divide(due * paid, claimed, out=np.zeros_like(due), where=claimed > 0)
    theirs = np.divide(others * (1.0 - paid), rest, out=np.zeros_like(p), where=rest > 0)
    found: Floats = mine + theirs
    return found
