"""Scorers of a question/answer row: (answer of the agent, gold answer) -> a number in [0, 1]."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

Scorer = Callable[[str, str], float]

_MARKER = re.compile(r"####|\\boxed\{|answer\s*(?:is\b|:)|=", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:/\d+)?", re.ASCII)


def exact(answer: str, gold: str) -> float:
    """1 when both texts are the same up to case, spacing, surrounding quotes and a final point."""
    return float(_plain(answer) == _plain(gold))


def contains(answer: str, gold: str) -> float:
    """1 when the gold text stands in the answer as whole words. Lenient: an answer that lists everything passes."""
    return float(re.search(rf"(?<!\w){re.escape(_plain(gold))}(?!\w)", _plain(answer)) is not None)


def number(answer: str, gold: str) -> float:
    """1 when both texts state the same number; see `stated_number`."""
    given = stated_number(answer)
    return float(given is not None and given == stated_number(gold))


def stated_number(text: str) -> Fraction | None:
    """The one number that a text commits to, None when there is none or more than one.

    Only what follows the last of "####", "\\boxed{", "answer is", "answer:" and "=" counts, where one of them occurs:
    a text that merely lists numbers states none. Thousands may be grouped by commas; fractions read a/b.
    """
    parts = _MARKER.split(text[-2000:])
    try:
        found = {Fraction(written.replace(",", "")) for written in _NUMBER.findall(parts[-1])}
    except ZeroDivisionError:
        return None
    return found.pop() if len(found) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'` ").rstrip(".!").strip("\"'` ")


SCORERS: dict[str, Scorer] = {"exact": exact, "number": number, "contains": contains}
