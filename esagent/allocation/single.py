"""Directions that perturb exactly one block each, spent as a scheme and a wrap say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from esagent.allocation.base import Allocation, Evidence, checked_names
from esagent.allocation.plan import Plan, Wrap, plan
from esagent.allocation.scheme import Floats, Scheme, Signals
from esagent.core.noise import key, uniform
from esagent.core.population import Block


@dataclass(frozen=True)
class Single:
    """A scheme over named blocks.

    seed: of the run, for schemes that draw. bottleneck: the block known to hold the agent back, for those that ask.
    """

    scheme: Scheme
    wrap: Wrap = field(default_factory=Wrap)
    step_follows_sigma: bool = False
    bottleneck: str | None = None
    seed: int = 0

    def allocate(
        self,
        *,
        step: int,
        blocks: Sequence[Block],
        directions: int,
        sigma: Mapping[str, float],
        evidence: Evidence,
    ) -> Allocation:
        """Spend `directions` on single blocks.

        In a step, blocks take turns until each has its number; the one that comes first rotates from step to step, so
        that no block owns a direction index. Raises ConfigError when there is no block, direction or sigma.
        """
        names = checked_names(blocks, directions, sigma)
        made = plan(
            self.scheme,
            self.wrap,
            self._signals(step, names, evidence),
            evidence.history.past(names),
            directions,
            step_follows_sigma=self.step_follows_sigma,
        )
        return laid_out(step, names, sigma, made)

    def _signals(self, step: int, names: Sequence[str], evidence: Evidence) -> Signals:
        return Signals(
            step=step,
            credit=of_sum_one(np.array([evidence.credit.get(name, 0.0) for name in names])),
            reached=np.array([evidence.reached.get(name, 1.0) for name in names]),
            draws=step_draws(self.seed, step, names),
            bottleneck=np.array([name == self.bottleneck for name in names]),
        )


def laid_out(step: int, names: Sequence[str], sigma: Mapping[str, float], made: Plan) -> Allocation:
    """The directions of a plan [M] over `names`.

    Blocks take turns until each has its number; the one that comes first rotates from step to step, so that no block
    owns a direction index.
    """
    counts = dict(zip(names, made.counts.tolist(), strict=True))
    scales = {name: sigma[name] * float(factor) for name, factor in zip(names, made.sigma, strict=True)}
    first = step % len(names)
    order = [*names[first:], *names[:first]]
    turns = [name for turn in range(max(counts.values())) for name in order if counts[name] > turn]
    return Allocation(
        tuple({name: scales[name]} for name in turns),
        target=dict(zip(names, made.target.tolist(), strict=True)),
        sigma=scales,
        step_scale=dict(zip(names, made.step.tolist(), strict=True)),
    )


def step_draws(seed: int, step: int, names: Sequence[str]) -> Floats:
    """A uniform number in [0, 1) for each of `names` in a step of run `seed`: [M]."""
    return np.array([uniform(key("allocation", seed, step, name), 1)[0] for name in names])


def of_sum_one(credit: Floats) -> Floats:
    """Credit [..., M] brought to sum 1, equal where there is none; blocks may be fewer than what it is shared by."""
    total = credit.sum(axis=-1, keepdims=True)
    equal = np.full_like(credit, 1.0 / credit.shape[-1])
    return np.divide(credit, total, out=equal, where=total > 0)
