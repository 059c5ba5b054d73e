"""Plans: the question taken apart into one step per tool call, in the agent's own words.

A step cannot be compared with a gold sentence word by word, but what it must name can be verified: the numbers, dates,
words, tables and units of its own call that the question says. A step that drops one of them, or names one that
belongs to another step, sends a later module astray.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TOKEN = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:\.\d+)?|[^\W\d_]+")
_MARKER = re.compile(r"\$\d+")
"""Stands for the result of an earlier call, which the question cannot say."""
_ASKED_IN_MANY_WORDS = frozenset({"operation"})
"""Arguments that a question may express in any words ("backwards", "the largest")."""


def tokens(text: str) -> list[str]:
    """Dates, numbers and words of a text, in lower case."""
    return _TOKEN.findall(text.casefold())


def said(arguments: Mapping[str, Any], part: str) -> list[str]:
    """What a call's arguments take literally from its part of the question, sorted."""
    there = set(tokens(part))
    values = [value for name, value in arguments.items() if name not in _ASKED_IN_MANY_WORDS]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return sorted({token for item in flat for token in tokens(_MARKER.sub(" ", str(item)))} & there)


def right_steps(plan: Sequence[str], wanted: Sequence[Sequence[str]]) -> list[bool]:
    """Which of the plan's first len(wanted) steps name all they must and nothing that only another step must name."""
    out = []
    for at, step in enumerate(plan[: len(wanted)]):
        named, own = set(tokens(step)), set(wanted[at])
        foreign = {token for other, words in enumerate(wanted) if other != at for token in words} - own
        out.append(bool(named) and own <= named and not named & foreign)
    return out
