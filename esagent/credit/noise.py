"""Credit noise: with probability eta the blamed module is replaced by one drawn uniformly from the others.

Two draws belong to each episode, keyed by run seed, step and episode: whether to replace, and by which.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from esagent.core.noise import key, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def noisy_blame(blamed: Ints, draws: Floats, eta: float, modules: int) -> Ints:
    """Blamed modules [..., E] (-1: nobody, which stays so) under noise; draws [..., E, 2] are uniform in [0, 1)."""
    if modules < 2:
        return blamed
    others = np.minimum((draws[..., 1] * (modules - 1)).astype(np.int64), modules - 2)
    other = others + (others >= blamed)  # the others in order, the blamed one left out
    return np.where((blamed >= 0) & (draws[..., 0] < eta), other, blamed)


def blame_draws(seed: int, step: int, episodes: int) -> Floats:
    """The draws of a step's episodes [episodes, 2]; those of an episode do not depend on how many there are."""
    return uniform(key("credit noise", seed, step), 2 * episodes).reshape(episodes, 2)
