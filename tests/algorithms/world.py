"""A search without a language model: strategy, allocation, schedules and parameters around a function of a vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from esagent.algorithms.registry import make_strategy
from esagent.allocation.base import Evidence
from esagent.allocation.registry import make_allocator
from esagent.assemble import make_scales
from esagent.config.schema import Config
from esagent.core.population import Perturbation, Population, Update
from esagent.spaces.factored import LowRank
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import make_partition
from esagent.spaces.tensors import SearchTensor

ROWS, COLUMNS, REST = 3, 4, 4
SIZE = ROWS * COLUMNS + REST

Function = Callable[[np.ndarray], np.ndarray]
"""Vectors [members, SIZE] -> fitness [members]."""


def tensors(scale: float = 1.0) -> list[SearchTensor]:
    """A matrix of module `a` and a vector of module `b`, of unequal size and in different layers."""
    return [
        SearchTensor("layers.0.up.weight", "layers.0.up", ROWS * COLUMNS, scale, "a", 0, COLUMNS),
        SearchTensor("layers.1.down.bias", "layers.1.down", REST, scale, "b", 1),
    ]


class World:
    """One search under `config` and `seed`, from `start` [SIZE] (zeros by default)."""

    def __init__(self, config: Config, seed: int = 0, start: np.ndarray | None = None, scale: float = 1.0) -> None:
        space = config.space
        self.config = replace(config, seed=seed)
        begin = torch.zeros(SIZE) if start is None else torch.tensor(start, dtype=torch.float32)
        parts = begin.split([ROWS * COLUMNS, REST])
        made = tensors(scale)
        self.parameters = Parameters(
            made,
            make_partition(space.partition, space.parts, space.redraw),
            LowRank(space.rank) if space.name == "lowrank" else None,
            {tensor.name: part.clone() for tensor, part in zip(made, parts, strict=True)},
        )
        self.strategy = make_strategy(config.algorithm, seed)
        self.allocator = make_allocator(config.allocation)
        self.scales = make_scales(config, self.parameters.blocks())

    @property
    def theta(self) -> np.ndarray:
        """The centre [SIZE]."""
        return torch.cat(list(self.parameters.centre.values())).double().numpy()

    def at(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """(sigma, step size) of `step` by block."""
        return self.scales.at(step, self.config.budget.steps or 1)

    def member(self, perturbation: Perturbation) -> np.ndarray:
        """The parameters of a member [SIZE]."""
        values = [
            torch.cat([part for _, part in self.parameters.ranges(tensor, perturbation)])
            for tensor in self.parameters.tensors
        ]
        return torch.cat(values).double().numpy()

    def ask(self, step: int) -> Population:
        """The population of `step`."""
        sigma, _ = self.at(step)
        directions = self.config.algorithm.directions
        blocks = self.parameters.blocks()
        return self.strategy.ask(
            step,
            self.allocator.allocate(step=step, blocks=blocks, directions=directions, sigma=sigma, evidence=Evidence()),
        )

    def tell(self, population: Population, rewards: np.ndarray) -> Update:
        """The update for rewards [members, tasks]."""
        _, step_size = self.at(population.step)
        return self.strategy.tell(population, rewards, step_size=step_size)

    def step(self, step: int, function: Function, noise: np.ndarray | None = None) -> Update:
        """One step on `function`, its fitness plus `noise` [members, tasks]; returns the applied update."""
        population = self.ask(step)
        fitness = function(np.stack([self.member(perturbation) for perturbation in population.members]))[:, None]
        update = self.tell(population, fitness if noise is None else fitness + noise)
        self.parameters.apply(update)
        return update

    def estimate(self, update: Update) -> np.ndarray:
        """g [SIZE], as the parameters sum it from the terms of the update."""
        plain = Update(0, update.terms, dict.fromkeys(update.step_size, 1.0), partition=update.partition)
        beside = Parameters(self.parameters.tensors, self.parameters.partition, self.parameters.form)
        beside.apply(plain)
        return torch.cat(list(beside.centre.values())).double().numpy()
