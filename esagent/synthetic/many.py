"""Many runs of one configuration at once, seed by seed the same as `train` makes them (docs/synthetic.md).

The loop of `esagent.train`, over all seeds together and without run directories. Allocation, credit, population,
shaping, estimate and curve are the very functions that `train` calls; what a member does and how an update moves the
centre is computed over arrays (`world.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esagent.algorithms.registry import make_strategy
from esagent.allocation.base import Allocation, Evidence
from esagent.allocation.plan import Plan, after, no_past, plan
from esagent.allocation.registry import make_allocator
from esagent.allocation.scheme import Signals
from esagent.allocation.single import Single, laid_out, of_sum_one
from esagent.assemble import make_scales
from esagent.blocks import block_summary
from esagent.config.limits import limit_of
from esagent.config.schema import Config, CreditSource, Normalise, Objective, Rule, Select, TaskSampling
from esagent.config.synthetic import is_synthetic
from esagent.core.chain import Floats, passed, reward_table
from esagent.core.episode import Task
from esagent.core.population import Block, Population
from esagent.credit.belief import first_belief
from esagent.credit.noise import noisy_blame
from esagent.credit.reach import reached_after
from esagent.credit.share import credit_after
from esagent.errors import ConfigError
from esagent.record import expected_signal
from esagent.summary import curve_summary
from esagent.synthetic.memory import Memory, Pool
from esagent.synthetic.world import World

Depths = NDArray[np.int64]
"""How many modules were right before the first failure."""


@dataclass(frozen=True)
class SyntheticRun:
    """What a run left. auc, final, blocks: as in the summary of a run directory. pool: {state: mean reward}.

    heldout: of the first and the last state, None without held-out tasks. skills: [steps + 1, M] of the unperturbed
    agent, by state. credit: [steps + 1, M]. theta: the centre by module.
    """

    seed: int
    auc: float
    final: float
    pool: dict[int, float]
    heldout: tuple[float, float] | None
    blocks: dict[str, dict[str, Any]]
    skills: Floats
    credit: Floats
    theta: dict[str, NDArray[np.float32]]


def run_many(config: Config, seeds: Sequence[int], memory: Memory | None = None) -> list[SyntheticRun]:
    """One run of `config` for each of `seeds`. memory: what other calls share.

    Raises ConfigError, one line a setting, for a configuration that only `train` can run.
    """
    problems = list(unsupported(config))
    if problems:
        raise ConfigError(*problems)
    return _Study(config, seeds, memory or Memory()).finished()


def unsupported(config: Config) -> Iterator[str]:
    """Why `run_many` does not take a configuration that `train` takes."""
    train = "many runs at once have none; use esagent train"
    if not is_synthetic(config):
        yield f"backend={config.backend.name}: {train}, or task=synthetic"
    for path, value, needed in (
        ("algorithm.rule", config.algorithm.rule, Rule.plain),
        ("algorithm.normalise", config.algorithm.normalise, Normalise.none),
        ("objective", config.objective, Objective.reward),
        ("budget.select", config.budget.select, Select.last),
        ("budget.task_sampling", config.budget.task_sampling, TaskSampling.uniform),
    ):
        if value is not needed:
            yield f"{path}={value.value}: {train}, or {path}={needed.value}"
    if config.algorithm.pull:
        yield f"algorithm.pull={config.algorithm.pull}: {train}"
    if config.space.partition != "module":
        yield f"space.partition={config.space.partition}: {train}, or space.partition=module"
    if config.sigma.auto:
        yield f"sigma.auto=true: {train}"
    if config.init is not None:
        yield f"init={config.init}: {train}"
    if config.budget.steps is None:
        yield f"budget.steps=null: {train}, or budget=steps"


@dataclass
class _Run:
    """What one run has to show, beside its numbers."""

    seed: int
    pools: dict[str, Pool]
    rows: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)


class _Study:
    def __init__(self, config: Config, seeds: Sequence[int], memory: Memory) -> None:
        chain, space = config.task.chain, config.space
        self._config, self._memory = config, memory
        self._modules = tuple(chain.modules)
        self._rewards = reward_table(len(self._modules), chain.graded)
        searched = [name for name in self._modules if not space.modules or name in space.modules]
        self._blocks = tuple(Block(name, chain.size) for name in searched)
        self._scales = make_scales(config, self._blocks, self._modules)
        self._world = World(chain, searched, len(seeds), memory, space.noise.value)
        self._runs = [_Run(seed, memory.pools(config.task, seed)) for seed in seeds]
        self._strategies = [make_strategy(config.algorithm, seed) for seed in seeds]
        self._allocator = make_allocator(config.allocation, config.credit)
        self._names = tuple(sorted(searched))
        self._past = no_past((len(seeds), len(searched)))
        equal = first_belief(self._modules)
        self._credit = np.tile(list(equal.credit.values()), (len(seeds), 1))
        self._reached = np.tile(list(equal.reached.values()), (len(seeds), 1))

    def finished(self) -> list[SyntheticRun]:
        """Run all steps."""
        budget = self._config.budget
        steps = budget.steps or 0
        skills, credits = [self._world.centres()], [self._credit]
        for step in range(steps):
            if step == 0 or (budget.evaluate_every and step % budget.evaluate_every == 0):
                self._evaluate(step, skills[-1], final=False)
            self._step(step, steps, skills[-1])
            skills.append(self._world.centres())
            credits.append(self._credit)
        self._evaluate(steps, skills[-1], final=True)
        by_run, credit = np.stack(skills, axis=1), np.stack(credits, axis=1)
        return [self._result(place, by_run[place], credit[place]) for place in range(len(self._runs))]

    def _step(self, step: int, steps: int, centres: Floats) -> None:
        config = self._config
        sigma, step_size = self._scales.at(step, steps)
        allocations = self._allocate(step, sigma)
        asked = zip(self._strategies, allocations, strict=True)
        populations = [strategy.ask(step, allocation) for strategy, allocation in asked]
        tasks, hard = self._draw(step)
        depth = passed(self._world.members(populations), hard[:, None])
        rewards = self._rewards[depth]
        updates = [
            strategy.tell(
                populations[place],
                rewards[place],
                step_size=allocations[place].scaled(step_size),
                groups=[task.group for task in tasks[place]],
            )
            for place, strategy in enumerate(self._strategies)
        ]
        moved = self._world.apply(updates)
        own = config.credit.source is CreditSource.members
        self._learn(step, depth if own else passed(centres[:, None], hard[:, None]))
        for place, run in enumerate(self._runs):
            lengths = {name: float(np.square(steps_[place]).mean() ** 0.5) for name, steps_ in moved.items()}
            run.rows.append(self._row(step, allocations[place], populations[place], lengths))

    def _allocate(self, step: int, sigma: dict[str, float]) -> list[Allocation]:
        """What `Allocator.allocate` gives each run."""
        names, directions, allocator = self._names, self._config.algorithm.directions, self._allocator
        if not isinstance(allocator, Single):
            made = allocator.allocate(
                step=step, blocks=self._blocks, directions=directions, sigma=sigma, evidence=Evidence()
            )
            return [made] * len(self._runs)
        searched = [self._modules.index(name) for name in names]
        signals = Signals(
            step=step,
            credit=of_sum_one(self._credit[:, searched]),
            reached=self._reached[:, searched],
            draws=np.stack([self._memory.allocation(run.seed, step, names) for run in self._runs]),
            bottleneck=np.tile([name == allocator.bottleneck for name in names], (len(self._runs), 1)),
        )
        follows = allocator.step_follows_sigma
        spent = plan(allocator.scheme, allocator.wrap, signals, self._past, directions, step_follows_sigma=follows)
        self._past = after(self._past, spent)
        each = zip(spent.target, spent.counts, spent.sigma, spent.step, strict=True)
        return [laid_out(step, names, sigma, Plan(*own)) for own in each]

    def _draw(self, step: int) -> tuple[list[list[Task]], Floats]:
        """The tasks of a step for each run, and their difficulties [runs, T, M]."""
        count, pools = self._config.budget.tasks_per_step, [run.pools["pool"] for run in self._runs]
        places = [
            self._memory.drawn(pool.tasks, run.seed, step, count) for pool, run in zip(pools, self._runs, strict=True)
        ]
        tasks = [[pool.tasks[place] for place in own] for pool, own in zip(pools, places, strict=True)]
        return tasks, np.stack([pool.difficulty[own] for pool, own in zip(pools, places, strict=True)])

    def _learn(self, step: int, depth: Depths) -> None:
        """Credit and propensities from the depths of judged episodes [runs, members, tasks]."""
        modules, settings = len(self._modules), self._config.credit
        flat = depth.reshape(len(self._runs), -1)
        episodes = flat.shape[1]
        draws = np.stack([self._memory.blame(run.seed, step, episodes) for run in self._runs])
        blamed = noisy_blame(np.where(flat < modules, flat, -1), draws, settings.noise, modules)
        counts = np.stack([(blamed == place).sum(axis=1) for place in range(modules)], axis=1)
        reached = np.stack([(flat >= place).sum(axis=1) for place in range(modules)], axis=1)
        order = np.argsort(self._modules)  # in which `train` sums
        credit = credit_after(self._credit[:, order], counts[:, order], settings.rate, settings.smoothing)
        self._credit = credit[:, np.argsort(order)]
        judged = np.full(len(flat), float(episodes))
        self._reached = reached_after(self._reached, reached, judged, settings.rate, settings.smoothing)

    def _row(
        self, step: int, allocation: Allocation, population: Population, moved: dict[str, float]
    ) -> dict[str, Any]:
        """What `train` says of a step, as far as summaries need it."""
        record = {
            "allocation": allocation.counts(),
            "step_scale": allocation.step_scale,
            "population": {"members": population.members, "antithetic": population.antithetic},
            "update_norm": self._config.algorithm.update_norm.value,
        }
        return {"step": step, "directions": record["allocation"], "moved": moved, "signal": expected_signal(record)}

    def _evaluate(self, step: int, skills: Floats, *, final: bool) -> None:
        splits = ["pool", "heldout"] if (step == 0 or final) and self._config.task.heldout else ["pool"]
        for split in splits:
            hard = np.stack([run.pools[split].difficulty for run in self._runs])
            depth = passed(skills, hard)
            means = self._rewards[depth].mean(axis=-1)
            for run, found, mean in zip(self._runs, depth, means, strict=True):
                failures = np.bincount(found, minlength=len(self._modules) + 1)[:-1].tolist()
                run.evaluations.append(
                    {"step": step, "split": split, "mean": float(mean), "blamed": self._named(failures)}
                )

    def _result(self, place: int, skills: Floats, credit: Floats) -> SyntheticRun:
        run = self._runs[place]
        limit = limit_of(self._config)
        curve = curve_summary(run.evaluations, [1.0] * len(run.rows), limit)
        means = {(row["split"], row["step"]): row["mean"] for row in run.evaluations}
        last = len(run.rows)
        theta = {name: values[place] for name, values in self._world.theta.items()}
        away = {name: float(np.square(values.astype(np.float64)).mean() ** 0.5) for name, values in theta.items()}
        return SyntheticRun(
            seed=run.seed,
            auc=curve["auc"],
            final=curve["final"],
            pool={step: mean for (split, step), mean in means.items() if split == "pool"},
            heldout=(means["heldout", 0], means["heldout", last]) if ("heldout", 0) in means else None,
            blocks=block_summary(run.rows, run.evaluations, away),
            skills=skills,
            credit=credit,
            theta=theta,
        )

    def _named(self, values: Sequence[int]) -> dict[str, int]:
        return dict(zip(self._modules, values, strict=True))
