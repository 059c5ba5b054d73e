"""From a configuration to the parts of a run. Every mistake shows here, before a run directory exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esagent.agents.base import Agent
from esagent.agents.registry import make_agent
from esagent.algorithms.base import Strategy
from esagent.algorithms.registry import make_strategy
from esagent.allocation.base import Allocator
from esagent.allocation.registry import make_allocator
from esagent.backends.base import Backend
from esagent.config.names import MODULES
from esagent.config.schema import Config, Normalise, ScheduleConfig, SigmaConfig
from esagent.core.population import Block
from esagent.core.schedules import Schedule, make_schedule
from esagent.errors import ConfigError
from esagent.pools import Pools, make_pools
from esagent.tasks.base import TaskFamily


@dataclass(frozen=True)
class Facts:
    """What the numbers of a run depend on beside its configuration; goes into the manifest.

    deterministic: an answer is the same bits whatever else is in the batch; otherwise near ties may go either way.
    """

    model_hash: str
    dtype: str
    device: str
    threads: int
    deterministic: bool = False


@dataclass(frozen=True)
class Scales:
    """sigma_t per block (schedule times the block's factor) and the step size per block.

    With `normalise` a step is alpha_t perturbation lengths, alpha_t sigma_t[b]; otherwise it is alpha_t itself, as in
    ES at Scale (arXiv 2509.24372).
    """

    sigma: Schedule
    alpha: Schedule
    factors: Mapping[str, float]
    normalise: bool  # by any norm

    def at(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """(sigma, step size) of `step`, both {block: value}."""
        sigma = {name: self.sigma(step) * factor for name, factor in self.factors.items()}
        alpha = self.alpha(step)
        return sigma, {name: alpha * scale if self.normalise else alpha for name, scale in sigma.items()}


@dataclass(frozen=True)
class Parts:
    """Everything that the training loop brings together."""

    agent: Agent
    family: TaskFamily
    pools: Pools
    backend: Backend
    strategy: Strategy
    allocator: Allocator
    scales: Scales
    facts: Facts


def assemble(config: Config) -> Parts:
    """Build all parts, the model last. Raises ConfigError, RunError or EnvironmentFailure; nothing is left behind."""
    from esagent.tasks.registry import make_family

    family = make_family(config.task)
    pools = make_pools(family, config.task, config.seed)
    agent, backend, facts = load_agent(config)
    return combine(config, agent, family, pools, backend, facts)


def load_agent(config: Config) -> tuple[Agent, Backend, Facts]:
    """The agent and its model, without tasks or a search. Raises as `assemble` does."""
    import torch

    from esagent.backends.registry import make_backend
    from esagent.models.chat import style
    from esagent.models.loading import load_tokenizer, pick_device, pick_dtype
    from esagent.models.registry import resolve

    model = resolve(config.model)
    agent = make_agent(config.agent, style(config.model, load_tokenizer(model.folder)))
    backend = make_backend(config, agent.modules)
    device = pick_device(config.backend.device)
    dtype = str(pick_dtype(config.model.dtype, device)).removeprefix("torch.")
    facts = Facts(model.hash, dtype, str(device), torch.get_num_threads(), config.backend.deterministic)
    return agent, backend, facts


def combine(config: Config, agent: Agent, family: TaskFamily, pools: Pools, backend: Backend, facts: Facts) -> Parts:
    """The parts around a ready backend: what the search itself needs follows from the configuration."""
    if not 1 <= config.budget.tasks_per_step <= len(pools.pool):
        raise ConfigError(
            f"budget.tasks_per_step={config.budget.tasks_per_step} cannot be drawn from a pool of {len(pools.pool)}"
        )
    return Parts(
        agent=agent,
        family=family,
        pools=pools,
        backend=backend,
        strategy=make_strategy(config.algorithm, config.seed),
        allocator=make_allocator(config.allocation),
        scales=_scales(config, agent, backend.blocks()),
        facts=facts,
    )


def _scales(config: Config, agent: Agent, blocks: tuple[Block, ...]) -> Scales:
    names = [block.name for block in blocks]
    # An agent's group brings factors for all of its modules: also for those that are not searched, and for those of the
    # agent that a user's own stands in for.
    replaced = MODULES.get(config.agent.name, ()) if config.agent.target else ()
    unknown = [name for name in config.sigma.modules if name not in (*names, *agent.modules, *replaced)]
    if unknown:
        raise ConfigError(f"sigma.modules.{unknown[0]}: no such block is searched; choose from {', '.join(names)}")
    return Scales(
        sigma=_schedule(config.sigma, config.budget.steps),
        alpha=_schedule(config.algorithm.step, config.budget.steps),
        factors={name: config.sigma.modules.get(name, 1.0) for name in names},
        normalise=config.algorithm.normalise is not Normalise.none,
    )


def _schedule(config: ScheduleConfig | SigmaConfig, steps: int) -> Schedule:
    # A run of 0 steps only evaluates the base; its schedules are never asked.
    return make_schedule(config.schedule.value, config.start, config.end, steps=max(steps, 1), warmup=config.warmup)
