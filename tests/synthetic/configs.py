"""Configurations of short synthetic runs."""

from __future__ import annotations

from esagent.config.compose import compose
from esagent.config.schema import Config

SHORT = (
    *("budget.steps=5", "budget.tasks_per_step=8", "budget.evaluate_every=2", "algorithm.directions=6"),
    *("task.pool=24", "task.heldout=16", "task.chain.size=12"),
)


def short(*overrides: str) -> Config:
    """The routing study's base settings, cut down to a fraction of a second."""
    return compose(["experiment=routing/synthetic", *SHORT, *overrides])
