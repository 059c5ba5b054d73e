"""Area under a learning curve: how good the agent was on average over the budget, not only at the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from esagent.errors import ConfigError


def auc(spent: ArrayLike, values: ArrayLike, budget: float | None = None) -> float:
    """Trapezoid area under the curve, divided by the budget: the mean value over [first spent, first spent + budget].

    spent: shape [n], what had been spent (steps, tokens, episodes) at each evaluation, strictly rising. values: shape
    [n], the reward there. budget: length of the range; by default all of the curve. A curve that ends earlier keeps its
    last value, one that goes further is cut (linear interpolation), so curves of unequal length compare at one budget.
    A single point is its own area. Raises ConfigError for unequal lengths, no point, a budget <= 0 or spent not rising.
    """
    x, y = np.asarray(spent, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ConfigError(f"a learning curve needs as many values as points: {list(x.shape)} and {list(y.shape)}")
    if not np.isfinite(x).all() or not np.isfinite(y).all() or (np.diff(x) <= 0).any():
        raise ConfigError("a learning curve needs finite values at strictly rising points")
    if budget is not None and not budget > 0:
        raise ConfigError(f"budget={budget} must be above 0")
    if budget is None and x.size == 1:
        return float(y[0])
    end = x[-1] if budget is None else x[0] + budget
    inside = x < end
    # np.interp holds the last value beyond the curve's end.
    points = np.append(x[inside], end)
    return float(np.trapezoid(np.interp(points, x, y), points) / (end - x[0]))
