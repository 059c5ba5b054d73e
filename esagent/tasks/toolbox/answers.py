"""Strict comparison of a final answer with the gold one.

Equal after trimming space, quotes and a final point; a short lead ("The answer is") and a unit of the task may stand
around it. Numbers are compared by value. Case counts, as some tasks ask for upper case. Anything longer is wrong, so
neither a list of all numbers nor a copy of the question can match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

_LEAD = re.compile(r"(the answer is|the result is|answer|result|it is)\b:?\s*|[:=]\s*", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?", re.ASCII)
_QUOTES = "\"'`“”‘’*"


def matches(answer: str, accepted: Sequence[str], carriers: Sequence[str] = ()) -> bool:
    """Whether `answer` is one of `accepted`."""
    given = _trim(_LEAD.sub("", _trim(answer), count=1) if _LEAD.match(_trim(answer)) else answer)
    readings = {given}
    for carrier in carriers:
        if given.casefold().endswith(f" {carrier.casefold()}"):
            readings.add(_trim(given[: -len(carrier)]))
    return any(_same(reading, gold) for reading in readings for gold in accepted if reading)


def _trim(answer: str) -> str:
    return " ".join(answer.split()).strip(_QUOTES).rstrip(".!").strip(_QUOTES + " ")


def _same(given: str, gold: str) -> bool:
    if given == gold:
        return True
    if _NUMBER.fullmatch(given) and _NUMBER.fullmatch(gold):
        return Fraction(given.replace(",", "")) == Fraction(gold.replace(",", ""))
    if ", " in gold:
        return [part for part in re.split(r"[,\s]+", given.strip("[]()")) if part] == gold.split(", ")
    return False
