"""Whole directions from real shares, so that what is lost to rounding in one step is given in a later one.

A module's account is what it was to have so far less what it had. Each step adds N p_m to it, and the N directions go
one by one to the module with the largest account (of equal ones the first), which pays 1 for each. A module whose share
is 0 gets none.
"""

from __future__ import annotations

import numpy as np

from esagent.allocation.scheme import Floats, Ints

_DIGITS = 9  # accounts nearer than this are equal: rounding of sums does not break ties


def whole(owed: Floats, target: Floats, directions: int) -> Ints:
    """Counts [..., M] of sum `directions`, from the accounts owed [..., M] before the step and its target [..., M].

    target: real, >= 0, of sum `directions`. While all shares are above 0, a module's account afterwards is above -1 and
    at most 1/2 + 1/3 + ... + 1/M (below 1 for M <= 3; 13/12 for M = 4). No rule that does not know later shares can
    promise less, for they may turn to whoever waits. Where they are equal and stay so, it is below 1 in size.
    """
    account = np.where(target > 0, (owed + target).round(_DIGITS), -np.inf)
    payers = (target > 0).sum(axis=-1, keepdims=True)
    # The level that the accounts come down to: the least at which whole payments do not exceed the directions.
    surplus = np.where(target > 0, account, 0.0).sum(axis=-1, keepdims=True) - directions
    level = np.floor(surplus / payers) - 1.0
    while True:
        counts = np.maximum(np.floor(account) - level, 0.0)
        over = counts.sum(axis=-1, keepdims=True) > directions
        if not over.any():
            break
        level = level + over
    # Fewer are left than accounts that stand at this level: one more for the largest of them.
    left = directions - counts.sum(axis=-1, keepdims=True)
    order = np.argsort((counts - account).round(_DIGITS), axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    return (counts + (rank < left)).astype(np.int64)
