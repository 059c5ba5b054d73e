"""The budget of a configuration: which of its kinds is set, and what is in the way of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from esagent.config.schema import BudgetConfig, Config
from esagent.core.ledger import KINDS, Limit


def limit_of(config: Config) -> Limit:
    """The limit of a configuration that has passed `check`: the one kind of budget that is set."""
    (kind,) = kinds_set(vars(config.budget))
    algorithm = config.algorithm
    return Limit(
        kind,
        float(getattr(config.budget, kind)),
        algorithm.directions,
        (2 if algorithm.antithetic else 1) * config.budget.tasks_per_step,
        1 if algorithm.antithetic else 2,  # one member alone has nothing to be compared with
    )


def kinds_set(budget: Mapping[str, Any]) -> list[str]:
    """The kinds of budget that have a value among the settings `budget`."""
    return [kind for kind in KINDS if budget.get(kind) is not None]


def known_steps(config: Config) -> int | None:
    """Steps of the run, where they follow from its configuration."""
    limit = limit_of(config)
    return limit.expected_steps([]) if limit.foreseen else None


def limit_problems(budget: BudgetConfig) -> Iterator[str]:
    """Why `budget` does not say by which one of its kinds a run ends."""
    given = kinds_set(vars(budget))
    if not given:
        yield f"budget.steps=null: a run needs a budget; set one of {', '.join(KINDS)}, as in budget=tokens"
    for kind in given[1:]:
        first, value = given[0], f"{getattr(budget, kind):g}"
        yield (
            f"budget.{kind}={value}: budget.{first}={getattr(budget, first):g} is set too, and a run ends by one of "
            f"them; use budget={kind} budget.{kind}={value}, or set one to null"
        )


def too_small(config: Config) -> Iterator[str]:
    """A budget of episodes that no step fits into."""
    limit = limit_of(config)
    need = limit.least * limit.episodes
    if limit.kind == "episodes" and limit.amount < need:
        yield (
            f"budget.episodes={limit.amount:g}: the smallest step takes {need}: {need // config.budget.tasks_per_step} "
            f"members on budget.tasks_per_step={config.budget.tasks_per_step} tasks"
        )
