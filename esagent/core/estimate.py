"""The evolution-strategies estimate as a list of terms: from a population and its weights to coefficients per seed.

For a block b perturbed by the directions D_b of a step, with weights z and noise eps,

    g_b = 1/n_b * sum_{i in D_b} d_i eps_i,    d_i = (z_i+ - z_i-) / 2 (antithetic) or z_i,

where n_b = |D_b| (norm "block") or the number of all directions (norm "total"). Sigma is absorbed in the step size, as
in ES at Scale (arXiv 2509.24372) and Agentic ESOpt (arXiv 2608.17310), unless d_i / sigma_b is asked for: then g_b
estimates the gradient itself, as in MeZO (Malladi et al. 2023, arXiv 2305.17333).
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from esagent.core.population import Population, UpdateTerm

NormName = Literal["block", "total"]


def direction_weights(population: Population, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight of each direction: weights [members] to [directions]."""
    if not population.antithetic:
        return weights
    return (weights[0::2] - weights[1::2]) / 2.0


def estimate_terms(
    population: Population, weights: NDArray[np.float64], norm: NormName = "block", divide_by_sigma: bool = False
) -> tuple[UpdateTerm, ...]:
    """The terms of the estimate for shaped `weights` [members]. Directions of weight exactly 0 are left out.

    divide_by_sigma: needs every sigma to be above 0.
    """
    stride = 2 if population.antithetic else 1
    directions = population.members[::stride]
    counts = Counter(name for direction in directions for name in direction.sigma)
    return tuple(
        UpdateTerm(
            seed=direction.seed,
            coefficient={
                name: float(weight)
                / (counts[name] if norm == "block" else len(directions))
                / (sigma if divide_by_sigma else 1.0)
                for name, sigma in direction.sigma.items()
            },
        )
        for direction, weight in zip(directions, direction_weights(population, weights), strict=True)
        if weight != 0.0
    )
