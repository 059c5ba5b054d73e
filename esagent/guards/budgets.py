"""Arms of a comparison that may spend unequal budgets: what they are compared by is the budget then.

`esagent stats` refuses or tells that of finished runs; here it is seen before any is started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from esagent.config.export import to_dict
from esagent.config.schema import Config
from esagent.config.study import load_study
from esagent.guards.finding import Finding
from esagent.stats.arms import flatten, training_budget

if TYPE_CHECKING:  # a sweep asks for its budgets without loading torch
    from esagent.guards.subject import Subject

NAME = "budgets"
_REMEDY = "give all arms one budget of one kind (budget=tokens, budget=episodes); warn where the budget is the question"


def budgets(subject: Subject) -> Iterator[Finding]:
    """The arms that the study of a run declares, each with its own settings over those of the run."""
    if subject.config.study is None:
        return
    study, own = load_study(subject.config.study), flatten(to_dict(subject.config))
    yield from _compared([{**own, **settings} for settings in study.arms.values()])


def unequal(configs: Sequence[Config]) -> Iterator[Finding]:
    """The jobs of a sweep. figure: the largest budget over the smallest; infinite where they are of several kinds."""
    yield from _compared([flatten(to_dict(config)) for config in configs])


def _compared(arms: Sequence[dict[str, object]]) -> Iterator[Finding]:
    found = sorted({training_budget(arm) for arm in arms})
    kinds = {kind for kind, _ in found}
    amounts = [amount for _, amount in found]
    ratio = max(amounts) / min(amounts) if len(kinds) == 1 and min(amounts) > 0 else float("inf")
    if len(found) > 1:
        listed = ", ".join(f"{amount:,.12g} {kind}" for kind, amount in found)
        yield Finding(NAME, "fault", f"arms have unequal budgets of training: {listed}", _REMEDY, ratio)
    elif found:
        kind, amount = found[0]
        yield Finding(NAME, "ok", f"all arms have {amount:,.12g} {kind} of training", "", 1.0)
