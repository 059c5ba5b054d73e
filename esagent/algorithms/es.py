"""Evolution strategies (Salimans et al. 2017, arXiv 1703.03864) on blocks of a model's parameters.

One estimator; the published variants are settings of it (conf/algorithm/, docs/methods.md). Member j of direction i is
theta + sign_j * sigma_b * eps_i on the blocks b that the allocation gives the direction. With rewards r_j on the step's
tasks and shaped weights z = shape(r),

    g_b = 1/n_b sum_i d_i eps_i    (esagent.core.estimate),    theta_b <- theta_b + alpha_b g_b.

    symbol     argument
    alpha_b    step_size[b] of `tell`
    shape      shaping: none (centred rewards), zscore, block_zscore, ranks, group
    n_b        norm: a block's own directions ("block") or all of the step ("total")
    1/sigma_b  divide_by_sigma: d_i / sigma_b in place of d_i, an estimate of the gradient
    rule       plain, momentum (heavy ball), adam (Kingma and Ba 2015, arXiv 1412.6980)
    pull       with it, theta_b <- theta_b + alpha_b g_b - pull alpha_b (theta_b - its value at the start of the run)
    control    shuffled: the members' rewards are permuted by a key of the step, so that they say nothing about the
               directions; frozen: every alpha_b is 0

With `normalise` the backend divides g_b by an RMS, so that alpha_b is a length; the sign of the
estimate then decides alone, which is why equal rewards must give no terms at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from esagent.allocation.base import Allocation
from esagent.core.estimate import NormName, estimate_terms
from esagent.core.noise import direction_seed, key, partition_key, permutation
from esagent.core.population import Perturbation, Population, Update
from esagent.core.shaping import ShapingName, shape
from esagent.errors import RunError


@dataclass(frozen=True)
class EvolutionStrategy:
    """Ask for a population, tell it the rewards. All state is in the settings and the step."""

    seed: int
    antithetic: bool = True
    shaping: ShapingName = "none"
    norm: NormName = "block"
    normalise: Literal["none", "block", "total"] = "total"
    rule: Literal["plain", "momentum", "adam"] = "plain"
    momentum: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    divide_by_sigma: bool = False
    pull: float = 0.0
    control: Literal["none", "shuffled", "frozen"] = "none"

    def ask(self, step: int, allocation: Allocation) -> Population:
        """The population of `step`: 2N members when antithetic (twins side by side, + first), N otherwise."""
        signs = (1, -1) if self.antithetic else (1,)
        partition = partition_key(self.seed, step)
        members = tuple(
            Perturbation(direction_seed(self.seed, step, i), sign, dict(sigma), partition)
            for i, sigma in enumerate(allocation.directions)
            for sign in signs
        )
        return Population(step, members, self.antithetic)

    def tell(
        self,
        population: Population,
        rewards: NDArray[np.float64],
        *,
        step_size: Mapping[str, float],
        groups: Sequence[str] = (),
    ) -> Update:
        """The update from rewards [members, tasks].

        A member with a reward that is not finite ranks worst. Equal rewards, or a step in which every member failed,
        give an update without terms and with step sizes 0: the centre stays, whatever the rule remembers.
        groups: the group of each task, which shaping `group` uses.

        Raises RunError when the shape of `rewards` does not fit the population.
        """
        if rewards.ndim != 2 or rewards.shape[0] != len(population.members) or rewards.shape[1] == 0:
            raise RunError(f"rewards {rewards.shape} do not fit {len(population.members)} members and at least 1 task")
        if self.control == "shuffled":
            rewards = rewards[permutation(key("shuffled", self.seed, population.step), len(rewards))]
        blocks = [tuple(sorted(member.sigma)) for member in population.members]
        weights = shape(self.shaping, rewards, groups=groups, blocks=blocks)
        terms = estimate_terms(population, weights, self.norm, self.divide_by_sigma)
        moves = bool(terms) and self.control != "frozen"
        return Update(
            step=population.step,
            terms=terms,
            step_size={name: float(size) if moves else 0.0 for name, size in step_size.items()},
            rule=self.rule,
            normalise=self.normalise,
            scalars=self._scalars(),
            partition=population.members[0].partition if population.members else 0,
        )

    def _scalars(self) -> dict[str, float]:
        scalars = {"pull": self.pull} if self.pull else {}
        if self.rule == "momentum":
            scalars["momentum"] = self.momentum
        if self.rule == "adam":
            scalars |= {"beta1": self.beta1, "beta2": self.beta2}
        return scalars
