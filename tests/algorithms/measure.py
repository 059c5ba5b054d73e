"""What the contract compares: figures of the real search beside those of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.algorithms.reference import Reference, cosine_law
from tests.algorithms.table import settings
from tests.algorithms.world import SIZE, World

GRADIENT = np.random.default_rng(5).normal(size=SIZE)
CURVATURE = np.linspace(0.5, 1.5, SIZE)
START = np.full(SIZE, 0.5)
TAU, TASKS = 0.1, 2
"""Standard deviation of the noise on a reward, and tasks a step."""


@dataclass(frozen=True)
class Figure:
    """expected, with the standard deviation of one run around it, and what `runs` real ones gave on average."""

    expected: float
    spread: float
    measured: float
    runs: int

    @property
    def deviation(self) -> float:
        """(measured - expected) in standard errors."""
        return (self.measured - self.expected) / (self.spread / self.runs**0.5)


def linear(theta: np.ndarray) -> np.ndarray:
    """<theta, gradient>."""
    return theta @ GRADIENT


def quadratic(theta: np.ndarray) -> np.ndarray:
    """-1/2 sum_j h_j theta_j^2, curvatures h from 1/2 to 3/2."""
    return -0.5 * (theta**2 @ CURVATURE)


def cos2(estimates: np.ndarray) -> np.ndarray:
    """cos^2 of estimates [R, SIZE] and the gradient [R]."""
    return (estimates @ GRADIENT) ** 2 / (estimates**2).sum(axis=1) / (GRADIENT @ GRADIENT)


def cosine(name: str, runs: int) -> Figure:
    """cos^2 on a linear function: its exact law where there is one, else 8,000 runs of the reference."""
    config = settings(name)
    law = cosine_law(config)
    if law is None:
        simulated = Reference(config, 8000, np.random.default_rng(1))
        values = cos2(simulated.estimate(np.zeros((8000, SIZE)), linear)[0])
        expected, spread = float(values.mean()), float(values.std())
    else:
        expected, spread = float(law.mean()), float(law.std())
    found = []
    for seed in range(runs):
        world = World(config, seed)
        population = world.ask(seed)
        rewards = linear(np.stack([world.member(member) for member in population.members]))[:, None]
        found.append(world.estimate(world.tell(population, rewards)))
    return Figure(expected, spread, float(cos2(np.array(found)).mean()), runs)


def floor(name: str, runs: int) -> Figure:
    """Loss that a noisy quadratic settles at, averaged over the later two thirds of a run."""
    config = settings(name)
    steps = 1500 if config.algorithm.name == "mezo" else 120
    simulated = Reference(config, 200, np.random.default_rng(2)).walk(START, quadratic, steps, TAU, TASKS)
    each = -simulated[steps // 3 :].mean(axis=0)
    found = []
    for seed in range(runs):
        world, rng, losses = World(config, seed, START), np.random.default_rng(seed), []
        members = len(world.ask(0).members)
        for step in range(steps):
            world.step(step, quadratic, TAU * rng.standard_normal((members, TASKS)))
            losses.append(-float(quadratic(world.theta)))
        found.append(np.mean(losses[steps // 3 :]))
    return Figure(float(each.mean()), float(each.std()), float(np.mean(found)), runs)
