"""Reading and writing the values that tools share: texts, numbers, dates, lists. Lenient where it is unambiguous."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from esagent.tools.base import MAX_ITEMS, MAX_TEXT, Parameter, ToolError, shorten

MAX_DIGITS = 30
"""Longest whole number, in decimal digits."""

_NUMBER = re.compile(r"[+-]?(\d+(,\d{3})+|\d+)?(\.\d+)?", re.ASCII)
_QUOTES = ("''", '""', "``", "“”", "‘’")


def text(value: Any) -> str:
    """One line of text without surrounding space or quotes. Numbers are taken as they would be written."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ToolError(f"{shorten(value)} is not text")
    try:
        line = " ".join(str(value).split())
    except ValueError as error:
        raise ToolError("the number is too large") from error
    if len(line) > MAX_TEXT:
        raise ToolError(f"longer than {MAX_TEXT} characters")
    if len(line) >= 2 and line[0] + line[-1] in _QUOTES:
        line = line[1:-1].strip()
    if not line:
        raise ToolError("empty")
    return line


def number(value: Any) -> Fraction:
    """An exact number from an int, a float or a plain decimal text ("1,250.5"); no exponents."""
    if isinstance(value, float):
        value = repr(value) if abs(value) < 1e15 else "nan"
    written = text(value)
    match = _NUMBER.fullmatch(written)
    if not match or not any(c.isdigit() for c in written):
        raise ToolError(f"{shorten(value)} is not a number")
    return bounded(Fraction(written.replace(",", "")))


def bounded(value: Fraction) -> Fraction:
    """`value`, or ToolError when its numerator or denominator has more than `MAX_DIGITS` digits."""
    if max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
        raise ToolError("the number is too large")
    return value


def integer(value: Any) -> int:
    """A whole number; 7.0 counts as 7."""
    exact = number(value)
    if exact.denominator != 1:
        raise ToolError(f"{shorten(value)} is not a whole number")
    return int(exact)


def date(value: Any) -> datetime.date:
    """A date written YYYY-MM-DD."""
    match = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text(value), re.ASCII)
    if not match:
        raise ToolError(f"{shorten(value)} is not a date like 2024-03-15")
    try:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError as error:
        raise ToolError(f"there is no date {shorten(value)}") from error


def items(value: Any) -> tuple[Fraction, ...] | tuple[str, ...]:
    """A sorted list from a sequence or a text; commas, spaces and brackets separate. All numbers, or all words."""
    given = value if isinstance(value, (list, tuple)) else [value]
    if len(given) > MAX_ITEMS:
        raise ToolError(f"a list has at most {MAX_ITEMS} items")
    words = [word for item in given for word in re.split(r"[,\s\[\]()'\"]+", text(item)) if word]
    if not 0 < len(words) <= MAX_ITEMS:
        raise ToolError(f"a list has 1 to {MAX_ITEMS} items")
    try:
        return tuple(sorted(number(word) for word in words))
    except ToolError:
        return tuple(sorted(words, key=lambda word: (word.casefold(), word)))


def show(value: Fraction) -> str:
    """A number as text: whole numbers without a point, others rounded to 6 decimals (6 digits when below 1)."""
    if value.denominator == 1:
        return str(value.numerator)
    with localcontext() as context:
        context.prec = 2 * MAX_DIGITS
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        places = 6 if abs(value) >= 1 else 5 - exact.adjusted()
        return f"{exact:.{places}f}".rstrip("0").rstrip(".")


def choice(options: Sequence[str]) -> Parameter:
    """A parameter that takes one of a few words, in any case."""

    def parse(value: Any) -> str:
        word = text(value).casefold()
        if word not in options:
            raise ToolError(f"{shorten(value)} is not one of {', '.join(options)}")
        return word

    return Parameter({"type": "string", "enum": list(options)}, parse)


def described(kind: str, description: str) -> Mapping[str, Any]:
    """A JSON Schema with a type and a description."""
    return {"type": kind, "description": description}
