"""The same small search as its formulas say, in plain numpy, many runs at once; noise is numpy's own.

Arrays lead with the runs: theta [R, d], noise [R, N, d], rewards [R, members, tasks].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from esagent.config.schema import Config
from tests.algorithms.world import COLUMNS, REST, ROWS, SIZE, Function

MODULES = np.repeat([0, 1], [ROWS * COLUMNS, REST])


def cosine_law(config: Config) -> Any:
    """The exact law of cos^2 of estimate and gradient on a linear function, a scipy distribution; None if it has none.

    With N iid Gaussian directions in d dimensions cos^2 ~ Beta(N/2, (d-1)/2), mean N / (N + d - 1): the estimate is W g
    with W Wishart; W_11 = s ~ chi2_N and, given s, W_j1 ~ N(0, s), so cos^2 = s / (s + chi2_{d-1}). Subtracting the
    mean of one-sided rewards takes one degree of freedom off N.
    """
    algorithm, space = config.algorithm, config.space
    together = config.allocation.name == "joint" or space.partition == "whole"
    if not together or space.name == "lowrank" or algorithm.shaping.value in ("ranks", "block_zscore"):
        return None
    freedom = algorithm.directions - (not algorithm.antithetic)
    return stats.beta(freedom / 2, (SIZE - 1) / 2)


@dataclass
class Reference:
    """`runs` searches under `config`; `parts` are the blocks [R, d] where they are drawn once."""

    config: Config
    runs: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        space = self.config.space
        self.blocks = {"module": 2, "whole": 1, "random": space.parts}[space.partition]
        sizes = {"module": [ROWS * COLUMNS, REST], "whole": [SIZE]}.get(space.partition)
        edges = [SIZE * k // self.blocks for k in range(self.blocks + 1)]
        self.sizes = np.array(sizes or np.diff(edges), dtype=float)
        self.fixed = self._draw_labels()

    def _draw_labels(self) -> np.ndarray:
        if self.config.space.partition == "random":
            return self.rng.integers(self.blocks, size=(self.runs, SIZE))
        return np.broadcast_to(MODULES % self.blocks, (self.runs, SIZE))

    def _noise(self, n: int) -> np.ndarray:
        noise = self.rng.standard_normal((self.runs, n, SIZE))
        if self.config.space.name == "lowrank":
            rank = self.config.space.rank
            a = self.rng.standard_normal((self.runs, n, ROWS, rank))
            b = self.rng.standard_normal((self.runs, n, COLUMNS, rank))
            noise[..., : ROWS * COLUMNS] = (a @ b.swapaxes(-1, -2)).reshape(self.runs, n, -1) / rank**0.5
        return noise

    def estimate(
        self, theta: np.ndarray, function: Function, tau: float = 0.0, tasks: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(g [R, d], block of each number [R, d], its sigma [R, d]); rewards are the function plus N(0, tau^2)."""
        algorithm = self.config.algorithm
        n, joint = algorithm.directions, self.config.allocation.name == "joint"
        redraw = self.config.space.partition == "random" and self.config.space.redraw
        labels = self._draw_labels() if redraw else self.fixed
        by_block = self.config.sigma.start * np.ones(self.blocks)
        if self.config.sigma.by_size:
            by_block = by_block * np.sqrt(SIZE / self.sizes)
        sigma = by_block[labels]
        owner = np.arange(n) % self.blocks
        mask = np.ones((self.runs, n, SIZE)) if joint else (labels[:, None, :] == owner[:, None]).astype(float)
        noise = self._noise(n) * mask
        signs = (1, -1) if algorithm.antithetic else (1,)
        sides = []
        for sign in signs:
            members = theta[:, None] + sign * sigma[:, None] * noise
            fitness = function(members.reshape(-1, SIZE)).reshape(self.runs, n, 1)
            sides.append(fitness + tau * self.rng.standard_normal((self.runs, n, tasks)))
        weights = self._shape(np.concatenate(sides, axis=1), np.tile(owner, len(signs)))
        d = (weights[:, :n] - weights[:, n:]) / 2 if algorithm.antithetic else weights
        count = n if joint or algorithm.update_norm.value == "total" else n / self.blocks
        g = (d[..., None] * noise).sum(axis=1) / count
        return g / sigma if algorithm.divide_by_sigma else g, labels, sigma

    def _shape(self, rewards: np.ndarray, owner: np.ndarray) -> np.ndarray:
        name = self.config.algorithm.shaping.value
        if name == "group":
            less = rewards - rewards.mean(axis=1, keepdims=True)
            return less.mean(axis=2) / less.std(axis=(1, 2))[:, None]
        fitness = rewards.mean(axis=2)
        if name == "ranks":
            return fitness.argsort(axis=1).argsort(axis=1) / (fitness.shape[1] - 1) - 0.5
        less = fitness - fitness.mean(axis=1, keepdims=True)
        if name == "none":
            return less
        if name == "zscore":
            return less / fitness.std(axis=1, keepdims=True)
        weights = np.empty_like(fitness)
        for block in range(self.blocks):
            mine = fitness[:, owner == block]
            weights[:, owner == block] = (mine - mine.mean(axis=1, keepdims=True)) / mine.std(axis=1, keepdims=True)
        return weights

    def walk(self, start: np.ndarray, function: Function, steps: int, tau: float, tasks: int) -> np.ndarray:
        """Fitness of the centre after every step [steps, R], from `start` [d]."""
        algorithm = self.config.algorithm
        theta = np.tile(start, (self.runs, 1))
        first, second = np.zeros_like(theta), np.zeros_like(theta)
        members = algorithm.directions * (2 if algorithm.antithetic else 1)
        factor = {"one": 1, "sqrt_blocks": self.blocks**0.5, "sqrt_members": members**0.5}[algorithm.step_factor.value]
        seen = []
        for t in range(steps):
            g, labels, sigma = self.estimate(theta, function, tau, tasks)
            if algorithm.normalise.value != "none":
                squares = np.stack([(g**2 * (labels == k)).sum(axis=1) for k in range(self.blocks)], axis=1)
                squares = squares / self.sizes
                if algorithm.normalise.value == "total":
                    squares = np.broadcast_to(squares.mean(axis=1, keepdims=True), squares.shape)
                g = g / np.sqrt(np.take_along_axis(squares, labels, axis=1))
            if algorithm.rule.value == "momentum":
                g = first = algorithm.momentum * first + g
            elif algorithm.rule.value == "adam":
                first = algorithm.beta1 * first + (1 - algorithm.beta1) * g
                second = algorithm.beta2 * second + (1 - algorithm.beta2) * g**2
                corrected = second / (1 - algorithm.beta2 ** (t + 1))
                g = first / (1 - algorithm.beta1 ** (t + 1)) / (np.sqrt(corrected) + 1e-8)
            rate = algorithm.step.start * factor * (sigma if algorithm.step_follows.value == "sigma" else 1.0)
            theta = theta + rate * g - algorithm.pull * rate * (theta - start)
            seen.append(function(theta))
        return np.array(seen)
