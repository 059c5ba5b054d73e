"""What a study will cost: arm by arm, and all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from esagent.plan.cost import Plan


@dataclass(frozen=True)
class StudyCost:
    """Of the jobs that are left to do; None where it is not known for one of them.

    seeds: of all jobs. done, left: how many are done, and how many are not. episodes: training, evaluation and
    calibration. tokens: as asked by the agents; computed_tokens: what sharing leaves of them. memory_bytes: of the job
    that takes most. disk_bytes: of run directories; models are kept once for all of them. seconds: one after the other.
    """

    seeds: tuple[int, ...]
    done: int
    left: int
    episodes: int | None
    tokens: int | None
    computed_tokens: int | None
    flops: float | None
    memory_bytes: int | None
    disk_bytes: int | None
    seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


def study_cost(seeds: Sequence[int], left: Sequence[Plan]) -> StudyCost:
    """seeds: of every job. left: the plans of those that are not done yet."""
    memory = [_sum(cost.memory_bytes.values()) for cost in left]
    known = [taken for taken in memory if taken is not None]
    return StudyCost(
        seeds=tuple(dict.fromkeys(seeds)),
        done=len(seeds) - len(left),
        left=len(left),
        episodes=_sum(_episodes(cost) for cost in left),
        tokens=_sum(cost.tokens for cost in left),
        computed_tokens=_sum(cost.computed_tokens for cost in left),
        flops=_sum(cost.flops for cost in left),
        memory_bytes=max(known, default=0) if len(known) == len(memory) else None,
        disk_bytes=_sum(_sum(cost.disk_bytes[part] for part in ("snapshots", "episodes")) for cost in left),
        seconds=_sum(cost.seconds for cost in left),
    )


def _episodes(cost: Plan) -> int | None:
    before = cost.calibration.episodes if cost.calibration else 0
    return _sum((cost.training_episodes, cost.evaluation_episodes, before))


def _sum(values: Iterable[Any]) -> Any:
    """None when one is."""
    found = list(values)
    return None if None in found else sum(found)
