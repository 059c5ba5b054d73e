"""What a family says of itself for `esagent ls tasks`; it is an attribute `about` of what the registry holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from esagent.tasks.base import Split


def nothing_missing() -> str:
    """Of a family that needs nothing that is not installed with esagent."""
    return ""


@dataclass(frozen=True)
class About:
    """summary: what its tasks are, in a line. source: where they come from. licence: of the data.

    levels: values of task.level, none when it has no levels. splits: how many tasks a split has, in words. missing:
    says what has to be installed before the family can be used, and how; "" when all is there.
    """

    summary: str
    source: str
    licence: str
    levels: tuple[str, ...] = ()
    splits: Mapping[Split, str] = field(default_factory=dict)
    missing: Callable[[], str] = nothing_missing


def about_of(family: object) -> About:
    """What a family in the registry says of itself; of one that says nothing, the first line of its description."""
    told = getattr(family, "about", None)
    if isinstance(told, About):
        return told
    lines = (getattr(family, "__doc__", None) or "").strip().splitlines()
    return About(summary=lines[0] if lines else "", source="", licence="")
