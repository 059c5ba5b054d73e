"""Ranges of single values. What depends on several values at once is in `check.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from esagent.config.schema import Config


@dataclass(frozen=True)
class Range:
    """low <= value <= high, or low < value where `above`."""

    low: float
    high: float
    above: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value lies inside. Not a number and infinities never do."""
        return math.isfinite(value) and (self.low < value if self.above else self.low <= value) and value <= self.high

    def __str__(self) -> str:
        high = int(self.high) if self.high == int(self.high) else self.high
        return f"above {self.low:g}, at most {high}" if self.above else f"from {self.low:g} to {high}"


COUNT = Range(1, 1_000_000)
NATURAL = Range(0, 1_000_000)
SCALE = Range(0, 1e6)
POSITIVE = Range(0, 1e6, above=True)

RANGES = {
    "seed": Range(0, 2**31 - 1),
    "backend.threads": Range(0, 1024),
    "backend.max_batch_rows": NATURAL,
    "backend.workers": Range(1, 4096),
    "backend.gpus": Range(0, 64),
    "backend.time_limit": POSITIVE,
    "backend.spares": NATURAL,
    "backend.engine.gpu_memory_utilization": Range(0, 1, above=True),
    "backend.engine.kv_cache_gb": Range(0, 100_000),
    "backend.engine.tensor_parallel_size": Range(1, 1024),
    "backend.engine.max_model_len": Range(0, 10_000_000),
    "backend.engine.max_num_seqs": Range(1, 65536),
    "backend.engine.max_num_batched_tokens": Range(0, 10_000_000),
    "backend.engine.max_loras": Range(1, 4096),
    "agent.max_turns": Range(1, 64),
    "task.pool": COUNT,
    "task.validation": NATURAL,
    "task.heldout": NATURAL,
    "algorithm.directions": Range(1, 100_000),
    "algorithm.momentum": Range(0, 0.9999),
    "algorithm.beta1": Range(0, 0.9999),
    "algorithm.beta2": Range(0, 0.999999),
    "algorithm.pull": SCALE,
    "algorithm.step.start": SCALE,
    "algorithm.step.end": SCALE,
    "algorithm.step.warmup": NATURAL,
    "allocation.phi": Range(0, 1),
    "allocation.starvation": Range(0, 1),
    "credit.rate": Range(0, 1, above=True),
    "credit.smoothing": SCALE,
    "credit.tau": Range(0.01, 1e6),
    "credit.noise": Range(0, 1),
    "credit.clip": Range(0, 1, above=True),
    "sigma.start": POSITIVE,
    "sigma.end": SCALE,
    "sigma.warmup": NATURAL,
    "sigma.target": Range(0.01, 0.99),
    "sigma.keep": Range(0, 1),
    "sigma.probes": Range(1, 1000),
    "sigma.tasks": COUNT,
    "space.parts": Range(2, 1024),
    "space.rank": Range(1, 1024),
    "space.sigma_a": SCALE,
    "space.sigma_b": SCALE,
    "budget.steps": COUNT,
    "budget.episodes": Range(1, 1_000_000_000),
    "budget.tokens": Range(0, 1e15, above=True),
    "budget.flops": Range(0, 1e27, above=True),
    "budget.seconds": Range(0, 1e9, above=True),
    "budget.tasks_per_step": COUNT,
    "budget.evaluate_every": NATURAL,
    "budget.snapshot_every": COUNT,
}


def range_problems(config: Config) -> Iterator[str]:
    """One line for every value outside its range."""
    for path, allowed in RANGES.items():
        value = reduce(getattr, path.split("."), config)
        if value is not None and not allowed.holds(value):  # type: ignore[arg-type]
            yield f"{path}={value}: must be {allowed}"
    for module, factor in config.sigma.modules.items():
        if not POSITIVE.holds(factor):
            yield f"sigma.modules.{module}={factor}: must be {POSITIVE}"
