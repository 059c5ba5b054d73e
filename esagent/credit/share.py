"""Credit: the smoothed share of failures that are due to each module, averaged over steps.

    c_0 = 1/M,    c_t = (1 - rate) c_{t-1} + rate s_t,    s_t[m] = (n_t[m] + k) / (sum n_t + k M)

with n_t the counts of blamed modules of step t and k the additive smoothing. A share, so c >= 0 and sum c = 1. Pure:
the value after any step follows from the counts in the journal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def credit_after(credit: Floats, counts: NDArray[np.float64 | np.int64], rate: float, smoothing: float) -> Floats:
    """Credit [..., M] after a step that blamed each module `counts` [..., M] times.

    A step without failures changes nothing. rate: above 0, at most 1. smoothing: at least 0.
    """
    failures = counts.sum(axis=-1, keepdims=True)
    total = failures + smoothing * credit.shape[-1]
    share = np.divide(counts + smoothing, total, out=np.zeros_like(credit), where=total > 0)
    raw = (1.0 - rate) * credit + rate * share
    # Of sum 1 up to rounding; dividing keeps the error from growing over a long run.
    return np.where(failures > 0, raw / raw.sum(axis=-1, keepdims=True), credit)
