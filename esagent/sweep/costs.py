"""What a sweep will cost before anything is run: one row per arm."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from esagent.plan import Plan
from esagent.plan.study import StudyCost, study_cost
from esagent.report.text import amount, duration, size
from esagent.sweep.jobs import Job, arms_of

TOTAL = "total"


def costs(jobs: Sequence[Job], plans: Sequence[Plan], finished: Collection[str]) -> dict[str, StudyCost]:
    """Cost by arm, and last TOTAL of all of them. finished: keys of the jobs that are done before."""
    found: dict[str, StudyCost] = {}
    for arm in arms_of(jobs):
        found[arm] = _of([pair for pair in zip(jobs, plans, strict=True) if pair[0].arm == arm], finished)
    found[TOTAL] = _of(list(zip(jobs, plans, strict=True)), finished)
    return found


def _of(pairs: Sequence[tuple[Job, Plan]], finished: Collection[str]) -> StudyCost:
    return study_cost([job.config.seed for job, _ in pairs], [plan for job, plan in pairs if job.key not in finished])


def to_json(found: Mapping[str, StudyCost]) -> dict[str, Any]:
    """{"arms": [...], "total": {...}}."""
    listed = [{"arm": arm, **cost.to_dict()} for arm, cost in found.items()]
    return {"arms": listed[:-1], TOTAL: listed[-1]}


def table(found: Mapping[str, StudyCost]) -> Table:
    """The same for people; what is not known is a dash. A single arm is its own total."""
    shown = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    shown.add_column("arm", overflow="fold")
    for heading in ("seeds", "to do", "episodes", "tokens", "FLOP", "memory", "time", "disk"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for arm, cost in found.items():
        if arm == TOTAL and len(found) == 2:
            break
        if arm == TOTAL:
            shown.add_section()
        cells = (str(len(cost.seeds)), str(cost.left), _count(cost.episodes), amount(cost.tokens), amount(cost.flops))
        rest = (_size(cost.memory_bytes), duration(cost.seconds), _size(cost.disk_bytes))
        shown.add_row(*map(Text, (arm, *cells, *rest)))
    return shown


def footing(jobs: Sequence[Job], plans: Sequence[Plan]) -> str:
    """What the numbers rest on, and how to see more of one job."""
    rates = dict.fromkeys(f"{amount(plan.flops_per_second, 'FLOP/s')} ({plan.rate_source})" for plan in plans)
    words = shlex.join(jobs[0].plain_overrides)
    return (
        "Of the jobs to do: memory is that of the largest, disk is without the cache of models, time is one job after "
        f"the other at {', '.join(rates)}\nAll about one job: esagent train --dry-run {words}"
    )


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _size(value: int | None) -> str:
    return "-" if value is None else size(value)
