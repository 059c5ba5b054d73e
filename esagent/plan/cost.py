"""The cost of a configuration.

Counts of members and episodes are exact. Tokens rest on typical lengths and on what sharing leaves of them (see
`workload`), seconds on a matrix product and on noise timed on this machine; both say so. A token costs 2 FLOPs per
weight that it meets: those of the layers, and of the head where a next token is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from esagent.config.blocks import searched_blocks, searched_modules
from esagent.config.layers import parse_layers
from esagent.config.limits import limit_of
from esagent.config.schema import Config, CreditSource, Select
from esagent.config.synthetic import is_synthetic
from esagent.core.chain import TOKENS
from esagent.models.catalog import Architecture
from esagent.models.registry import architecture, place
from esagent.plan.baselines import Baseline, baselines
from esagent.plan.calibration import searches
from esagent.plan.memory import PROCESS, memory_bytes
from esagent.plan.rate import Rate, rate_of
from esagent.plan.searched import number_bytes, searched_numbers, written_numbers
from esagent.plan.steps import steps_within
from esagent.workload import ANSWER_TOKENS, PREFIX_TOKENS, PROMPT_TOKENS, calls_per_episode, work

EPISODE_BYTES = 400  # one episode on disk, compressed
CALL_TOKENS = PREFIX_TOKENS + PROMPT_TOKENS + ANSWER_TOKENS


@dataclass(frozen=True)
class CalibrationCost:
    """Of `sigma=auto`, where the tries are as many as usual and outputs are valid at once; see `Plan`."""

    episodes: int
    requests: int
    tokens: int
    computed_tokens: int
    flops: float | None
    seconds: float | None


@dataclass(frozen=True)
class Plan:
    """Cost of a run. None: not known before the model is there.

    budget: kind and amount. steps: those that fit into it, an estimate unless it is a budget of steps or episodes.
    directions: per block and step, on average. requests and tokens: as asked by the agents; computed_tokens: what is
    left after prompts, prefixes, requests and the trunk are shared, in tokens through all layers. These, flops and
    seconds are of the whole run, calibration included; `calibration` is what it has of them, and its episodes, None
    without one. step_flops: of training, per step. noise_numbers: random numbers that its members write into the
    weights. memory_bytes, disk_bytes: by part. flops_per_second: the rate `seconds` assumes, from `rate_source`.
    baselines: ES and GRPO by the papers' models, on the same model and as many trajectories of the same length.
    """

    blocks: tuple[str, ...]
    searched_numbers: int | None
    budget: dict[str, Any]
    steps: int | None
    members: int
    directions: float
    training_episodes: int | None
    evaluation_episodes: int | None
    calibration: CalibrationCost | None
    requests: int | None
    tokens: int | None
    computed_tokens: int | None
    flops: float | None
    step_flops: float | None
    noise_numbers: int | None
    memory_bytes: dict[str, int | None]
    disk_bytes: dict[str, int | None]
    seconds: float | None
    flops_per_second: float
    rate_source: str
    trajectory_tokens: int
    longest_tokens: int
    baselines: tuple[Baseline, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class _Job:
    """What costs follow from. body, head: weights, 0 where unknown; written: numbers of noise to write a member."""

    config: Config
    body: int
    head: int
    remembers: bool
    modules: tuple[str, ...]
    members: int
    trunk: float
    written: int | None
    rate: Rate

    def computed(self, steps: int, evaluation: int) -> tuple[float, float]:
        """(tokens through all layers, tokens through the head) of so many steps and episodes of evaluation."""
        left = work(self.config, self.modules, self.members, evaluation, steps, remembers=self.remembers)
        return self.trunk * left.trunk + (1 - self.trunk) * left.upper, left.head

    def flops(self, steps: int, evaluation: int = 0) -> float:
        """Of so many steps and episodes of evaluation."""
        body, head = self.computed(steps, evaluation)
        return 2.0 * (self.body * body + self.head * head)

    def noise(self, steps: int) -> int | None:
        """Random numbers: each direction's once more for the update."""
        if self.written is None:
            return None
        return steps * self.written * (self.members + self.config.algorithm.directions)

    def seconds(self, steps: int, evaluation: int = 0) -> float:
        """On the machine that `rate` speaks of."""
        return self._duration(self.flops(steps, evaluation), self.noise(steps) or 0)

    def _duration(self, flops: float, noise: int) -> float:
        return flops / self.rate.flops + noise / self.rate.noise

    def calibration(self, blocks: int) -> CalibrationCost | None:
        """Of what `sigma=auto` runs; None without it."""
        found = searches(self.config, blocks)
        if not found:
            return None
        tasks, calls = found[0].tasks, calls_per_episode(self.config)
        episodes = tasks + sum(search.episodes for search in found)
        requests = round(calls * episodes + sum(search.asked(self.modules) for search in found))
        body = head = 0.0
        noise = 0
        for search in found:
            rounds, centre = search.tries + 1, tasks if search is found[0] else 0
            job = dataclasses.replace(self, config=search.config, members=search.members)
            layers, logits = job.computed(rounds, centre)
            body, head = body + layers, head + logits
            noise += rounds * (self.written or 0) * search.members
        flops = 2.0 * (self.body * body + self.head * head)
        return CalibrationCost(
            episodes,
            requests,
            requests * CALL_TOKENS,
            round(body),
            flops if self.body else None,
            self._duration(flops, noise) if self.body else None,
        )


def plan(config: Config) -> Plan:
    """The cost of `config`, which must have passed `check`. Runs nothing, writes nothing, fetches nothing."""
    sizes = architecture(config.model)
    if (sizes and sizes.recurrent) or config.backend.name == "vllm":  # what the backend does not do
        backend = dataclasses.replace(config.backend, share_trunk=False, draft=False)
        config = dataclasses.replace(config, backend=backend)
    limit = limit_of(config)
    blocks = searched_blocks(config, sizes.layers if sizes else None)
    modules = searched_modules(config)
    members = config.algorithm.directions * (2 if config.algorithm.antithetic else 1)
    numbers = searched_numbers(config, sizes, len(modules))
    calls = calls_per_episode(config)
    synthetic = is_synthetic(config)
    length = 2 * TOKENS if synthetic else CALL_TOKENS
    trunk = min(parse_layers(config.space.layers, sizes.layers)) / sizes.layers if sizes else 0.0
    job = _Job(
        config,
        sizes.body_parameters if sizes else 0,
        sizes.head_parameters if sizes else 0,
        not (sizes and sizes.recurrent),
        modules,
        members,
        trunk,
        written_numbers(config, numbers),
        rate_of(config),
    )
    each = limit.directions * limit.episodes * calls * length
    costs: dict[str, Callable[[int], float]] = {"tokens": lambda count: count * each}
    if sizes:
        costs |= {"flops": job.flops, "seconds": job.seconds}
    steps = steps_within(limit, costs.get(limit.kind))
    training = None if steps is None else round(steps.whole * limit.directions + steps.part) * limit.episodes
    evaluation = None if steps is None else _evaluation_episodes(config, steps.count)
    known = training is not None and evaluation is not None
    count, evaluated = steps.count if steps else 0, evaluation or 0
    costed = bool(sizes) and known
    before = job.calibration(max(1, len(blocks)))
    requests = round(((training or 0) + evaluated) * calls) + (before.requests if before else 0)
    flops, seconds = (job.flops(count, evaluated), job.seconds(count, evaluated)) if costed else (None, None)
    made = Plan(
        blocks=blocks,
        searched_numbers=numbers,
        budget={"kind": limit.kind, "amount": limit.amount},
        steps=steps.count if steps else None,
        members=members,
        directions=config.algorithm.directions / (1 if config.allocation.name == "joint" else max(1, len(blocks))),
        training_episodes=training,
        evaluation_episodes=evaluation,
        calibration=before,
        requests=requests if known else None,
        tokens=requests * length if known else None,
        computed_tokens=round(job.computed(count, evaluated)[0]) + (before.computed_tokens if before else 0)
        if known
        else None,
        flops=_sum(flops, before.flops if before else None),
        step_flops=job.flops(count) / count if costed and count else None,
        noise_numbers=job.noise(count) if known else None,
        memory_bytes=memory_bytes(config, sizes, numbers, modules, members, count, evaluated),
        disk_bytes=_disk(config, sizes, numbers, count, (training or 0) + evaluated),
        seconds=_sum(seconds, before.seconds if before else None),
        flops_per_second=job.rate.flops,
        rate_source=job.rate.source,
        trajectory_tokens=round(calls * length),
        longest_tokens=length,
        baselines=baselines(sizes, each, length) if sizes else (),
    )
    return _without_model(made) if synthetic else made


def _without_model(made: Plan) -> Plan:
    """Nothing is shared and nothing computed where answers come from formulas."""
    memory = {"process": PROCESS, "searched": made.searched_numbers and 4 * made.searched_numbers}
    disk = made.disk_bytes | {"model_cache": 0}
    return dataclasses.replace(
        made, computed_tokens=made.tokens, flops=0.0, step_flops=0.0, memory_bytes=memory, disk_bytes=disk
    )


def _sum(run: float | None, calibration: float | None) -> float | None:
    return None if run is None else run + (calibration or 0.0)


def _evaluation_episodes(config: Config, steps: int) -> int:
    """The unperturbed agent at the start, every `evaluate_every` steps and at the end; held-out at both ends only. And
    on the tasks of every step, where credit is learned from it."""
    budget, task = config.budget, config.task
    states = {0, steps}
    if budget.evaluate_every:
        states |= set(range(0, steps, budget.evaluate_every))
    each = task.pool + (task.validation if budget.select is Select.validation else 0)
    judged = steps * budget.tasks_per_step if config.credit.source is CreditSource.unperturbed else 0
    return len(states) * each + 2 * task.heldout + judged


def _disk(
    config: Config, sizes: Architecture | None, numbers: int | None, steps: int, episodes: int
) -> dict[str, int | None]:
    """Snapshots are written every so many steps; the first, the last two and the chosen one are kept in the end."""
    snapshots = steps // config.budget.snapshot_every + 1
    return {
        "snapshots": None if numbers is None else snapshots * numbers * number_bytes(config),
        "episodes": episodes * EPISODE_BYTES,
        "model_cache": sizes.parameters * 2 if sizes and place(config.model)[0] != "folder" else None,
    }
