"""Propensities: how probably an episode reaches a module with nothing gone wrong before, and credit debiased by them.

    q_0 = 1,    q_t = (1 - rate) q_{t-1} + rate (r_t[m] + k) / (n_t + k)

with r_t[m] of the n_t judged episodes of step t in which all earlier modules were right, and the additive smoothing k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esagent.core.episode import Score

Floats = NDArray[np.float64]


def reach_counts(scores: Sequence[Score], modules: Sequence[str]) -> dict[str, int]:
    """In how many of the scored episodes all modules before each were right. The first is reached by every episode."""
    scored = [score for score in scores if not score.unscored]
    return {
        name: sum(all(score.signals.get(before, 1.0) >= 1.0 for before in modules[:place]) for score in scored)
        for place, name in enumerate(modules)
    }


def reached_after(reached: Floats, counts: Floats, episodes: Floats, rate: float, smoothing: float) -> Floats:
    """Propensities [..., M] after a step in which `counts` [..., M] of `episodes` [...] reached each module.

    A step without episodes changes nothing.
    """
    total = np.asarray(episodes, dtype=np.float64)[..., None]
    share = np.divide(counts + smoothing, total + smoothing, out=np.ones_like(reached), where=total + smoothing > 0)
    return np.where(total > 0, (1.0 - rate) * reached + rate * share, reached)


def debiased(credit: Floats, reached: Floats, clip: float) -> Floats:
    """Credit [..., M] times inverse propensity weights of at most 1 / clip, normalised to sum 1."""
    weighted = credit / np.maximum(reached, clip)
    found: Floats = weighted / weighted.sum(axis=-1, keepdims=True)
    return found
