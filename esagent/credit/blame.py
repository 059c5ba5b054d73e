"""Which module of an agent failed: the earliest one whose own work was verifiably wrong.

Verifiable signals only (gold plan, tools, arguments and answer, really executed), never a judge. Earliest causal
mistake first, as in EvoTool (arXiv 2603.04900): what comes after a mistake is not the later module's fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esagent.core.episode import Score


def first_failing(signals: Mapping[str, float], modules: Sequence[str]) -> str | None:
    """The first of `modules`, in the order in which an episode reaches them, whose signal is below 1.

    A module that was not reached has no signal and is not blamed. None when no signal is below 1.
    """
    return next((name for name in modules if signals.get(name, 1.0) < 1.0), None)


def blame_counts(scores: Sequence[Score], modules: Sequence[str]) -> dict[str, int]:
    """How many failed episodes are due to each module. Solved and unscored episodes blame nobody."""
    blamed = [first_failing(score.signals, modules) for score in scores if not (score.success or score.unscored)]
    return {name: blamed.count(name) for name in modules}
