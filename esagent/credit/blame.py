"""Which module of an agent failed: the earliest one whose own work was verifiably wrong.

Verifiable signals only (gold plan, tools, arguments and answer, really executed), never a judge. Earliest causal
mistake first, as in EvoTool (arXiv 2603.04900): what comes after a mistake is not the later module's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from esagent.core.episode import Score


def first_failing(signals: Mapping[str, float], modules: Sequence[str]) -> str | None:
    """The first of `modules`, in the order in which an episode reaches them, whose signal is below 1.

    A module that was not reached has no signal and is not blamed. None when no signal is below 1.
    """
    return next((name for name in modules if signals.get(name, 1.0) < 1.0), None)


def blamed_modules(scores: Sequence[Score], modules: Sequence[str]) -> list[str | None]:
    """The module that each episode's failure is due to; None for solved and unscored ones, which blame nobody."""
    return [None if score.success or score.unscored else first_failing(score.signals, modules) for score in scores]


def counted(blamed: Iterable[str | None], modules: Sequence[str]) -> dict[str, int]:
    """How many episodes blame each module."""
    found = dict.fromkeys(modules, 0)
    for name in blamed:
        if name is not None:
            found[name] += 1
    return found


def blame_counts(scores: Sequence[Score], modules: Sequence[str]) -> dict[str, int]:
    """How many failed episodes are due to each module."""
    return counted(blamed_modules(scores, modules), modules)
