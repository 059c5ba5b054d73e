"""From a configuration to the parts of a run. Every mistake shows here, before a run directory exists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esagent.agents.base import Agent
from esagent.agents.registry import make_agent
from esagent.algorithms.base import Strategy
from esagent.algorithms.registry import make_strategy
from esagent.allocation.base import Allocator
from esagent.allocation.registry import make_allocator
from esagent.backends.base import Backend, Distributed
from esagent.backends.registry import make_backend, number_format
from esagent.config.blocks import sigma_factors
from esagent.config.limits import known_steps
from esagent.config.names import MODULES
from esagent.config.nearest import suggest
from esagent.config.schema import Config, Objective, ScheduleConfig, SigmaConfig, StepFactor, StepFollows
from esagent.config.synthetic import is_synthetic
from esagent.core.population import Block
from esagent.core.schedules import Schedule, make_schedule
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.gold import require_gold
from esagent.pools import Pools, make_pools
from esagent.tasks.base import TaskFamily


@dataclass(frozen=True)
class Facts:
    """What the numbers of a run depend on beside its configuration; goes into the manifest.

    deterministic: an answer is the same bits whatever else is in the batch; otherwise near ties may go either way.
    parameters: numbers of the model; 0 when it has none that count.
    """

    model_hash: str
    dtype: str
    device: str
    threads: int
    deterministic: bool = False
    parameters: int = 0


@dataclass(frozen=True)
class Scales:
    """sigma_t per block (schedule times the block's factor) and the step size per block.

    A step size is step_factor * alpha_t, as in ES at Scale (arXiv 2509.24372), or that times the block's sigma_t where
    it follows sigma: then alpha counts perturbation lengths.
    """

    sigma: Schedule
    alpha: Schedule
    factors: Mapping[str, float]
    follows_sigma: bool
    step_factor: float = 1.0

    def at(self, step: int, steps: int) -> tuple[dict[str, float], dict[str, float]]:
        """(sigma, step size) of `step` in a run that is expected to take `steps`, both {block: value}."""
        sigma = {name: self.sigma(step, steps) * factor for name, factor in self.factors.items()}
        alpha = self.alpha(step, steps) * self.step_factor
        return sigma, {name: alpha * scale if self.follows_sigma else alpha for name, scale in sigma.items()}


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
    if is_synthetic(config):
        return _synthetic(config)
    import torch

    from esagent.models.catalog import architecture_of_folder
    from esagent.models.chat import style
    from esagent.models.loading import load_tokenizer, pick_device, pick_dtype
    from esagent.models.registry import resolve

    model = resolve(config.model)
    agent = make_agent(config.agent, style(config.model, load_tokenizer(model.folder)))
    backend = make_backend(config, agent.modules)
    if isinstance(backend, Distributed):  # it computes elsewhere, perhaps on devices that this process does not have
        if model.hash != backend.facts["base weights"]:
            raise EnvironmentFailure(f"model {model.name}: the workers have other weights than this machine")
        dtype, place, threads = (backend.facts[name] for name in ("dtype", "device", "threads"))
    else:
        device = pick_device(config.backend.device)
        dtype = str(pick_dtype(number_format(config), device)).removeprefix("torch.")
        place, threads = str(device), torch.get_num_threads()
    numbers = architecture_of_folder(model.folder).parameters
    return agent, backend, Facts(model.hash, dtype, place, threads, config.backend.deterministic, numbers)


def _synthetic(config: Config) -> tuple[Agent, Backend, Facts]:
    """No model: a chain of formulas stands in its place, and their settings for its weights."""
    from esagent.agents.chain import ChainAgent
    from esagent.backends.synthetic.skills import skills_hash

    chain = config.task.chain
    agent, backend = ChainAgent(chain.modules), make_backend(config, chain.modules)
    return agent, backend, Facts(skills_hash(chain), "float32", "cpu", threads=1, deterministic=True)


def combine(config: Config, agent: Agent, family: TaskFamily, pools: Pools, backend: Backend, facts: Facts) -> Parts:
    """The parts around a ready backend: what the search itself needs follows from the configuration."""
    if not 1 <= config.budget.tasks_per_step <= len(pools.pool):
        raise ConfigError(
            f"budget.tasks_per_step={config.budget.tasks_per_step} cannot be drawn from a pool of {len(pools.pool)}"
        )
    if config.objective is Objective.likelihood:
        require_gold(agent, family, pools.pool, backend.overflow)
    blocks, bottleneck = backend.blocks(), config.allocation.bottleneck
    if bottleneck is not None and bottleneck not in (names := [block.name for block in blocks]):
        raise ConfigError(
            f"allocation.bottleneck={bottleneck}: no such block is searched; {suggest(bottleneck, names)}"
        )
    return Parts(
        agent=agent,
        family=family,
        pools=pools,
        backend=backend,
        strategy=make_strategy(config.algorithm, config.seed),
        allocator=make_allocator(config.allocation, config.credit, config.seed),
        scales=make_scales(config, blocks, agent.modules),
        facts=facts,
    )


def make_scales(config: Config, blocks: tuple[Block, ...], modules: Sequence[str] = ()) -> Scales:
    """Sigma and step size of `blocks`. modules: the agent's, searched or not.

    Raises ConfigError for a factor of none of these, and for a block without numbers.
    """
    names = [block.name for block in blocks]
    own = sigma_factors(config)
    # An agent's group brings factors for all of its modules: also for those that are not searched, and for those of the
    # agent that a user's own stands in for.
    replaced = MODULES.get(config.agent.name, ()) if config.agent.target else ()
    unknown = [name for name in own if name not in (*names, *modules, *replaced)]
    if unknown:
        raise ConfigError(f"sigma.modules.{unknown[0]}: no such block is searched; {suggest(unknown[0], names)}")
    steps = known_steps(config)
    total = sum(block.size for block in blocks)
    if not all(block.size for block in blocks):
        raise ConfigError(f"space.parts={config.space.parts}: only {total} numbers are searched; at most {total}")
    factors = {
        block.name: own.get(block.name, 1.0) * (math.sqrt(total / block.size) if config.sigma.by_size else 1.0)
        for block in blocks
    }
    members = config.algorithm.directions * (2 if config.algorithm.antithetic else 1)
    counted = {StepFactor.one: 1, StepFactor.sqrt_blocks: len(blocks), StepFactor.sqrt_members: members}
    return Scales(
        sigma=_schedule(config.sigma, steps),
        alpha=_schedule(config.algorithm.step, steps),
        factors=factors,
        follows_sigma=config.algorithm.step_follows is StepFollows.sigma,
        step_factor=math.sqrt(counted[config.algorithm.step_factor]),
    )


def _schedule(config: ScheduleConfig | SigmaConfig, steps: int | None) -> Schedule:
    # A run of 0 steps only evaluates the base; its schedules are never asked.
    known = config.warmup + 1 if steps is None else max(steps, 1)
    return make_schedule(config.schedule.value, config.start, config.end, steps=known, warmup=config.warmup)
