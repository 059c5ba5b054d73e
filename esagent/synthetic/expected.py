"""What one step of the search does on average, in closed form (docs/synthetic.md).

A module of d numbers gets n antithetic directions of its own; its estimate is g = 1/n sum_i D_i eps_i with
D_i = (r_i+ - r_i-)/2 (shaping none). With u the unit vector towards the optimum, a step alpha g is expected to come
alpha E[g . u] nearer, and to move by alpha^2 E[|g|^2] squared. The number of directions enters the second alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from esagent.config.schema import Config
from esagent.core.chain import jump_moments, start_distance


@dataclass(frozen=True)
class ExpectedStep:
    """Of an estimate g: `progress` E[g . u] and `squared` E[|g|^2]."""

    progress: float
    squared: float


def gaussian_step(
    *,
    size: int,
    directions: int,
    sigma: float,
    distance: float,
    ceiling: float = 1.0,
    width: float = 1.0,
    slope: float = 1.0,
) -> ExpectedStep:
    """Exact for the skill of core.chain when rewards are means over all tasks there are (no noise of tasks).

    slope: what the reward gains per skill (`core.chain.slopes`). With k = 1/w^2, l = 2 k sigma^2, s = distance^2 and

        Q1 = c (1 + k sigma^2)^(-d/2) exp(-k s / (2 (1 + k sigma^2)))     E[p(theta + sigma eps)]
        Q2 = c^2 (1 + l)^(-d/2) exp(-k s / (1 + l))                       E[p(theta + sigma eps)^2]
        Q3 = c^2 (1 + l)^(-d/2) exp(-k s)                                 E[p(theta + sigma eps) p(theta - sigma eps)]
        G  = k sigma Q1 / (1 + k sigma^2)

    E[g . u] = slope G distance and E[|g|^2] = slope^2 (A/n + (1 - 1/n) G^2 s), where
    A = (Q2 (d/(1 + l) + l^2 s / ((1 + l) sigma)^2) - Q3 d/(1 + l)) / 2.
    """
    curvature, square = width**-2, distance**2
    spread = 1.0 + curvature * sigma**2
    doubled = 2.0 * curvature * sigma**2
    first = ceiling * spread ** (-size / 2) * math.exp(-curvature * square / (2.0 * spread))
    second = ceiling**2 * (1.0 + doubled) ** (-size / 2) * math.exp(-curvature * square / (1.0 + doubled))
    crossed = ceiling**2 * (1.0 + doubled) ** (-size / 2) * math.exp(-curvature * square)
    length = size / (1.0 + doubled)
    own = (second * (length + doubled**2 * square / ((1.0 + doubled) * sigma) ** 2) - crossed * length) / 2.0
    mean = curvature * sigma * first / spread
    squared = own / directions + (1.0 - 1.0 / directions) * mean**2 * square
    return ExpectedStep(slope * mean * distance, slope**2 * squared)


def linear_step(
    *, size: int, directions: int, sigma: float, gradient: float, tasks: int, jump: float, jump_squared: float
) -> ExpectedStep:
    """Exact for a skill p + gradient u . (theta - theta_0), and right to first order in sigma for any.

    Rewards are means over `tasks` tasks that all members share, their difficulties uniform and independent; jump and
    jump_squared: `core.chain.jump_moments`. With b = sigma gradient,

        E[g . u]  = jump b
        E[|g|^2]  = (1 - 1/T) jump^2 b^2 ((d + 2)/n + 1 - 1/n)
                  + jump_squared b / (2 T) (sqrt(2/pi) (d + 1)/n + (1 - 1/n)/sqrt(pi))

    The second line is the noise of tasks. Directions share it where their members differ on the same tasks, so that it
    does not vanish with n.
    """
    step = sigma * gradient
    others = 1.0 - 1.0 / directions
    signal = (1.0 - 1.0 / tasks) * (jump * step) ** 2 * ((size + 2) / directions + others)
    mixed = math.sqrt(2.0 / math.pi) * (size + 1) / directions + others / math.sqrt(math.pi)
    return ExpectedStep(jump * step, signal + jump_squared * step / (2.0 * tasks) * mixed)


def first_steps(config: Config, module: str, counts: Sequence[int]) -> Iterator[tuple[int, ExpectedStep, ExpectedStep]]:
    """(n, without noise of tasks, to first order on the tasks of a step) for the first step of `module`."""
    chain, place = config.task.chain, config.task.chain.modules.index(module)
    skills = np.array([chain.start[name] for name in chain.modules])
    start, width = chain.start[module], chain.width.get(module, 1.0)
    distance = start_distance(start, chain.ceiling, width)
    jump, jump_squared = jump_moments(skills, place, chain.graded)
    for n in counts:
        exact = gaussian_step(
            size=chain.size,
            directions=n,
            sigma=config.sigma.start,
            distance=distance,
            ceiling=chain.ceiling,
            width=width,
            slope=jump,
        )
        noisy = linear_step(
            size=chain.size,
            directions=n,
            sigma=config.sigma.start,
            gradient=start * distance / width**2,
            tasks=config.budget.tasks_per_step,
            jump=jump,
            jump_squared=jump_squared,
        )
        yield n, exact, noisy
