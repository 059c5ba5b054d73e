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
from esagent.allocation.history import History
from esagent.allocation.registry import make_allocator
from esagent.assemble import make_scales
from esagent.blocks import block_summary
from esagent.config.limits import limit_of
from esagent.config.schema import Config, CreditSource, Normalise, Objective, Rule, Select
from esagent.config.synthetic import is_synthetic
from esagent.core.chain import Floats, passed, reward_table
from esagent.core.population import Block, Population
from esagent.credit.belief import Judged, first_belief, learn
from esagent.credit.noise import blame_draws, noisy_blame
from esagent.errors import ConfigError
from esagent.pools import Pools, make_pools, step_tasks
from esagent.record import expected_signal
from esagent.summary import curve_summary
from esagent.synthetic.world import NoiseMemory, World, difficulties
from esagent.tasks.registry import make_family

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


def run_many(config: Config, seeds: Sequence[int], memory: NoiseMemory | None = None) -> list[SyntheticRun]:
    """One run of `config` for each of `seeds`. memory: noise shared with other calls.

    Raises ConfigError, one line a setting, for a configuration that only `train` can run.
    """
    problems = list(unsupported(config))
    if problems:
        raise ConfigError(*problems)
    return _Study(config, seeds, memory or NoiseMemory()).finished()


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
    """The state of one run, beside its numbers."""

    seed: int
    pools: Pools
    difficulty: dict[str, Floats]
    history: History = field(default_factory=History)
    rows: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)


class _Study:
    def __init__(self, config: Config, seeds: Sequence[int], memory: NoiseMemory) -> None:
        chain, space = config.task.chain, config.space
        self._config = config
        self._modules = tuple(chain.modules)
        self._rewards = reward_table(len(self._modules), chain.graded)
        searched = [name for name in self._modules if not space.modules or name in space.modules]
        self._blocks = tuple(Block(name, chain.size) for name in searched)
        self._scales = make_scales(config, self._blocks, self._modules)
        self._world = World(chain, searched, len(seeds), memory, space.noise.value)
        family = make_family(config.task)
        self._runs = [self._start(seed, make_pools(family, config.task, seed)) for seed in seeds]
        self._strategies = [make_strategy(config.algorithm, seed) for seed in seeds]
        self._allocators = [make_allocator(config.allocation, config.credit, seed) for seed in seeds]
        self._beliefs = [first_belief(self._modules) for _ in seeds]

    def _start(self, seed: int, pools: Pools) -> _Run:
        splits = {"pool": pools.pool, "heldout": pools.heldout}
        return _Run(seed, pools, {split: difficulties(tasks, self._modules) for split, tasks in splits.items()})

    def finished(self) -> list[SyntheticRun]:
        """Run all steps."""
        budget = self._config.budget
        steps = budget.steps or 0
        skills, credits = [self._world.centres()], [self._credits()]
        for step in range(steps):
            if step == 0 or (budget.evaluate_every and step % budget.evaluate_every == 0):
                self._evaluate(step, skills[-1], final=False)
            self._step(step, steps)
            skills.append(self._world.centres())
            credits.append(self._credits())
        self._evaluate(steps, skills[-1], final=True)
        by_run, credit = np.stack(skills, axis=1), np.stack(credits, axis=1)
        return [self._result(place, by_run[place], credit[place]) for place in range(len(self._runs))]

    def _step(self, step: int, steps: int) -> None:
        config, runs = self._config, self._runs
        sigma, step_size = self._scales.at(step, steps)
        allocations = [
            allocator.allocate(
                step=step,
                blocks=self._blocks,
                directions=config.algorithm.directions,
                sigma=sigma,
                evidence=Evidence(belief.credit, belief.reached, run.history),
            )
            for allocator, belief, run in zip(self._allocators, self._beliefs, runs, strict=True)
        ]
        populations = [
            strategy.ask(step, allocation) for strategy, allocation in zip(self._strategies, allocations, strict=True)
        ]
        drawn = [step_tasks(run.pools.pool, run.seed, step, config.budget.tasks_per_step) for run in runs]
        hard = np.stack([_rows(run, tasks) for run, tasks in zip(runs, drawn, strict=True)])
        before = self._world.centres()
        depth = passed(self._world.members(populations), hard[:, None])
        updates = [
            self._strategies[place].tell(
                populations[place],
                self._rewards[depth[place]],
                step_size=allocations[place].scaled(step_size),
                groups=[task.group for task in drawn[place]],
            )
            for place in range(len(runs))
        ]
        moved = self._world.apply(updates)
        own = config.credit.source is CreditSource.members
        self._learn(step, depth if own else passed(before[:, None], hard[:, None]))
        for place, run in enumerate(runs):
            lengths = {name: float(np.square(steps_[place]).mean() ** 0.5) for name, steps_ in moved.items()}
            self._account(run, step, allocations[place], populations[place], lengths)

    def _learn(self, step: int, depth: Depths) -> None:
        """Credit and propensities from the depths of judged episodes [runs, members, tasks]."""
        modules, settings = len(self._modules), self._config.credit
        flat = depth.reshape(len(self._runs), -1)
        draws = np.stack([blame_draws(run.seed, step, flat.shape[1]) for run in self._runs])
        blamed = noisy_blame(np.where(flat < modules, flat, -1), draws, settings.noise, modules)
        for place, belief in enumerate(self._beliefs):
            counts = np.bincount(blamed[place] + 1, minlength=modules + 1)[1:].tolist()
            reached = [int((flat[place] >= number).sum()) for number in range(modules)]
            judged = Judged(flat.shape[1], self._named(counts), self._named(reached))
            self._beliefs[place] = learn(belief, judged, settings)

    def _account(
        self, run: _Run, step: int, allocation: Allocation, population: Population, moved: dict[str, float]
    ) -> None:
        """What `train` keeps of a step, as far as summaries need it."""
        record = {
            "allocation": allocation.counts(),
            "step_scale": allocation.step_scale,
            "population": {"members": population.members, "antithetic": population.antithetic},
            "update_norm": self._config.algorithm.update_norm.value,
        }
        run.history = run.history.after(record["allocation"], allocation.target, population.directions)
        row = {"step": step, "directions": record["allocation"], "moved": moved, "signal": expected_signal(record)}
        run.rows.append(row)

    def _evaluate(self, step: int, skills: Floats, *, final: bool) -> None:
        splits = ["pool", "heldout"] if (step == 0 or final) and self._config.task.heldout else ["pool"]
        for split in splits:
            hard = np.stack([run.difficulty[split] for run in self._runs])
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

    def _credits(self) -> Floats:
        return np.array([[belief.credit[name] for name in self._modules] for belief in self._beliefs])

    def _named(self, values: Sequence[int]) -> dict[str, int]:
        return dict(zip(self._modules, values, strict=True))


def _rows(run: _Run, tasks: Sequence[Any]) -> Floats:
    """Difficulties of some tasks of the pool: [T, M]."""
    place = {task.id: number for number, task in enumerate(run.pools.pool)}
    return run.difficulty["pool"][[place[task.id] for task in tasks]]
