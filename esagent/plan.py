"""What a configuration will cost, before anything is run or downloaded.

Counts of members and episodes are exact. Tokens rest on typical lengths and on what sharing leaves of them (see
`workload`), seconds on a matrix product timed on this machine; both say so. A token costs 2 FLOPs per weight that it
meets: those of the layers, and of the head where a next token is asked for.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from esagent.config import names
from esagent.config.blocks import searched_blocks, searched_modules
from esagent.config.export import to_dict
from esagent.config.layers import parse_layers
from esagent.config.schema import Config, DType, Per, Positions, Select
from esagent.models.catalog import Architecture
from esagent.models.registry import architecture, place
from esagent.workload import ANSWER_TOKENS, PREFIX_TOKENS, PROMPT_TOKENS, calls_per_episode, work

ANSWER_ROOM = 33  # slots kept for an answer that may be long
CPU_ROWS = 256  # most rows decoded together when backend.max_batch_rows leaves it open
GPU_ROWS = 4096
UTILISATION = 0.35  # share of a large matrix product's rate that generation reaches
GPU_FLOPS = 1e14  # useful work a second on a GPU that is not there to be timed
EPISODE_BYTES = 400  # one episode on disk, compressed


@dataclass(frozen=True)
class Plan:
    """Cost of a run. None: not known before the model is there.

    directions: per block and step, on average. requests and tokens: as asked by the agents; computed_tokens: what is
    left after prompts, prefixes, requests and the trunk are shared, in tokens through all layers. Both are without a
    calibration, which runs `calibration_episodes` at least, and asks about as much again without running any.
    memory_bytes, disk_bytes: by part. flops_per_second: the rate `seconds` assumes, from `rate_source`.
    """

    blocks: tuple[str, ...]
    searched_numbers: int | None
    members: int
    directions: float
    training_episodes: int
    evaluation_episodes: int
    calibration_episodes: int
    requests: int
    tokens: int
    computed_tokens: int
    flops: float | None
    memory_bytes: dict[str, int | None]
    disk_bytes: dict[str, int | None]
    seconds: float | None
    flops_per_second: float
    rate_source: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


def plan(config: Config) -> Plan:
    """The cost of `config`, which must have passed `check`. Runs nothing, writes nothing, fetches nothing."""
    sizes = architecture(config.model)
    if sizes and sizes.recurrent:  # what the backend switches off by itself
        config = dataclasses.replace(
            config, backend=dataclasses.replace(config.backend, share_trunk=False, draft=False)
        )
    blocks = searched_blocks(config, sizes.layers if sizes else None)
    modules = searched_modules(config)
    count = max(1, len(blocks))
    joint = config.allocation.name == "joint"
    members = config.algorithm.directions * (2 if config.algorithm.antithetic else 1)
    training = config.budget.steps * members * config.budget.tasks_per_step
    evaluation = _evaluation_episodes(config)

    calls = calls_per_episode(config)
    length = PREFIX_TOKENS + PROMPT_TOKENS + ANSWER_TOKENS
    requests = round((training + evaluation) * calls)
    left = work(config, modules, members, evaluation, remembers=not (sizes and sizes.recurrent))
    trunk = min(parse_layers(config.space.layers, sizes.layers)) / sizes.layers if sizes else 0.0
    computed = trunk * left.trunk + (1 - trunk) * left.upper
    flops = 2.0 * (sizes.body_parameters * computed + sizes.head_parameters * left.head) if sizes else None
    rate, source = _rate(config)
    numbers = _searched_numbers(config, sizes, len(modules))
    return Plan(
        blocks=blocks,
        searched_numbers=numbers,
        members=members,
        directions=config.algorithm.directions / (1 if joint else count),
        training_episodes=training,
        evaluation_episodes=evaluation,
        calibration_episodes=_calibration_episodes(config, count),
        requests=requests,
        tokens=requests * length,
        computed_tokens=round(computed),
        flops=flops,
        memory_bytes=_memory(config, sizes, numbers, members, max(1, len(modules))),
        disk_bytes=_disk(config, sizes, numbers, training + evaluation),
        seconds=flops / rate if flops is not None else None,
        flops_per_second=rate,
        rate_source=source,
    )


def describe(config: Config, cost: Plan) -> str:
    """The composed configuration (YAML), then the cost, for people."""
    from omegaconf import OmegaConf

    rows = [
        ("blocks", f"{', '.join(cost.blocks) or 'those of your agent'} ({_count(cost.searched_numbers)} numbers)"),
        ("members per step", f"{cost.members}"),
        ("directions per block", f"{cost.directions:g} per step"),
        ("episodes", f"{cost.training_episodes:,} training, {cost.evaluation_episodes:,} evaluation"),
        *([("calibration", f"{cost.calibration_episodes:,} episodes or more, counted apart")] * config.sigma.auto),
        ("requests", f"{cost.requests:,}"),
        ("tokens", f"{_count(cost.tokens)} asked for, {_count(cost.computed_tokens)} computed after sharing"),
        ("compute", f"{_count(cost.flops)}FLOP"),
        ("memory", _parts(cost.memory_bytes)),
        ("disk", _parts(cost.disk_bytes)),
        ("time", f"{_duration(cost.seconds)} at {_count(cost.flops_per_second)}FLOP/s ({cost.rate_source})"),
    ]
    head = OmegaConf.to_yaml(OmegaConf.create(to_dict(config)))
    return head + "\nPlan (nothing was run)\n" + "".join(f"  {name:<22}{value}\n" for name, value in rows)


def _evaluation_episodes(config: Config) -> int:
    """The unperturbed agent at the start, every `evaluate_every` steps and at the end; held-out at both ends only."""
    budget, task = config.budget, config.task
    states = {0, budget.steps}
    if budget.evaluate_every:
        states |= set(range(0, budget.steps, budget.evaluate_every))
    each = task.pool + (task.validation if budget.select is Select.validation else 0)
    return len(states) * each + 2 * task.heldout


def _calibration_episodes(config: Config, blocks: int) -> int:
    """The centre, and each block's members where it is tried by itself, or those of all, where outputs are valid."""
    sigma = config.sigma
    if not sigma.auto:
        return 0
    members = 0
    if sigma.per is Per.block:
        members += 1 + 2 * sigma.probes * blocks
    if sigma.per is Per.all or (config.allocation.name == "joint" and blocks > 1):
        members += 1 + 2 * max(sigma.probes, blocks)
    return sigma.tasks * (1 + members)


def _searched_numbers(config: Config, sizes: Architecture | None, modules: int) -> int | None:
    """None where they hang on an agent of the user's, or on the names of a model's parameters."""
    space = config.space
    if sizes is None:
        return None
    if space.name in names.WEIGHT_SPACES:
        return None if space.include or space.exclude else sizes.parameters
    if not modules:
        return None
    layers = parse_layers(space.layers, sizes.layers)
    shapes = [sizes.linear(site, layer) for layer in layers for site in space.sites]
    return modules * sum(_numbers(config, *shape) for shape in shapes if shape)


def _numbers(config: Config, inputs: int, outputs: int) -> int:
    """Of one module at one linear layer of this size."""
    space = config.space
    if space.name == "core":
        return space.rank**2
    if space.name == "lora":
        return space.rank * (outputs + (inputs if space.sigma_a > 0 else 0))
    return outputs


def _memory(
    config: Config, sizes: Architecture | None, numbers: int | None, members: int, modules: int
) -> dict[str, int | None]:
    if sizes is None:
        return {"weights": None, "searched": None, "kv_cache": None, "logits": None}
    width = 4 if config.model.dtype is DType.float32 else 2
    most = config.backend.max_batch_rows or (GPU_ROWS if config.backend.device.startswith("cuda") else CPU_ROWS)
    copies = 1 if config.space.name in names.WEIGHT_SPACES else 1 + members  # the centre, and the members of a step
    together = 1 if config.space.name == "full" else members
    rows = min(most, together * config.budget.tasks_per_step)
    prefixes = modules if config.space.positions is Positions.answer else together + modules
    cached = rows * (PROMPT_TOKENS + ANSWER_ROOM) + prefixes * PREFIX_TOKENS
    states = 0
    if sizes.recurrent:  # every row owns a copy of its prefix
        cached, states = cached + rows * PREFIX_TOKENS, (rows + prefixes) * sizes.state_numbers
    return {
        "weights": sizes.parameters * width,
        "searched": None if numbers is None else numbers * _number_bytes(config) * copies,
        "kv_cache": cached * sizes.kv_numbers_per_token * width + states * 4,
        "logits": rows * sizes.vocab * 4,
    }


def _number_bytes(config: Config) -> int:
    """Of one searched number: fp32, unless the parameters' own format is kept."""
    return 4 if config.space.precision == "master" else 2


def _disk(config: Config, sizes: Architecture | None, numbers: int | None, episodes: int) -> dict[str, int | None]:
    snapshots = config.budget.steps // config.budget.snapshot_every + 1
    return {
        "snapshots": None if numbers is None else snapshots * numbers * _number_bytes(config),
        "episodes": episodes * EPISODE_BYTES,
        "model_cache": sizes.parameters * 2 if sizes and place(config.model)[0] != "folder" else None,
    }


def _rate(config: Config) -> tuple[float, str]:
    """Useful FLOP/s of this machine, from a matrix product in the model's number format."""
    import torch

    wanted = config.backend.device
    device = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if device.startswith("cuda") and not torch.cuda.is_available():
        return GPU_FLOPS, "assumed for a GPU: there is none here to time"
    dtype = torch.float32 if config.model.dtype is DType.float32 else torch.bfloat16
    left = torch.ones(2048, 1024, dtype=dtype, device=device)
    right = torch.ones(1024, 1024, dtype=dtype, device=device)
    best = float("inf")
    for _ in range(10):  # the fastest: others may be using the machine too
        start = time.perf_counter()
        (left @ right)[0, 0].item()  # reading a value waits for the device
        best = min(best, time.perf_counter() - start)
    return UTILISATION * 2.0 * 2048 * 1024 * 1024 / best, f"{UTILISATION:.0%} of a matrix product timed here just now"


def _count(value: float | None) -> str:
    """1.2M and the like; "unknown number of " when it is not known."""
    if value is None:
        return "an unknown number of "
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.1f} {unit}"
    return f"{value:g} "


def _parts(parts: dict[str, int | None]) -> str:
    known = sum(value or 0 for value in parts.values())
    each = ", ".join(f"{name} {_bytes(value)}" for name, value in parts.items())
    return f"{_bytes(known)} ({each})"


def _bytes(value: int | None) -> str:
    return "unknown" if value is None else f"{_count(value)}B"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
