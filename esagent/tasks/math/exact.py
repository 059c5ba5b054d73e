"""Answers compared exactly, without computer algebra: numbers as fractions, everything else as normalised text.

Numbers: 1,234  1 234  14{,}916  -3.50  .5  7/2  \\frac{7}{2}  \\dfrac72  3\\frac{1}{2}  4 4/9, with a currency sign
before them, with a unit behind them (\\text{...}, degrees, or up to three words), or after one variable ("x = 5").
"""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 200
"""Longest answer that is looked at, in characters."""

_SPACING = re.compile(r"\\[!,;: ]|\\q?quad\b|~|\\(?:left|right|displaystyle)(?![a-zA-Z])")
_GROUPING = re.compile(r"(?<=\d)(?:\{,\}|,(?:\\!\s*)+)(?=\d)")
_FRAC = re.compile(r"\\[dtc]?frac(?![a-zA-Z])")
_SHORT_FRAC = re.compile(r"\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|°")
_ASSIGNED = re.compile(r"^[a-zA-Z]\s*=(?=[^=]*$)")
_UNIT = re.compile(
    r"\s*\\(?:text|mbox|mathrm|textbf|textnormal)\s*\{(?!\s*[eij]\s*\})[^{}\d]*[a-zA-Z][^{}\d]*\}(?:\^\{?[23]\}?)?$"
)
_UNIT_WORDS = re.compile(r"(?<=[\d}])(?:\s+[a-zA-Z]{2,}(?:\^?[23])?){1,3}$")
_SCALES = re.compile(r"hundred|thousand|million|billion|trillion|dozen|percent|pct|half|third|quarter", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_RATIO = re.compile(r"(?P<sign>[+-]?)\s*(?:(?P<whole>\d+) +)?(?P<over>\d+)\s*/\s*(?P<under>\d+)", re.ASCII)
_PERCENT = re.compile(r"\s*(?<!\\)(?:%|\b(?:percent(?:age)?|pct)\b)")
_AND = re.compile(r"\s*,?\s*(?:\\(?:text|mbox)\s*\{\s*(?:and|or)\s*\}|\b(?:and|or)\b)\s*")
_LETTER = re.compile(r"\\(?:text|mbox|mathrm|mathbf|textbf|operatorname)\s*\{\s*([A-Za-z])\s*\}")
_NUMERIC = re.compile(r"\d|\\[a-zA-Z]")
_WRAPPER = re.compile(r"\\(?:text|mbox|mathrm|textbf|textnormal|mathbf)\s*\{([^{}]*)\}")
_CHOICE = re.compile(r"\(([A-Za-z])\)")


def compare(given: str, gold: str) -> bool | None:
    """Whether two answers are the same; None where that takes algebra.

    A decimal number and a fraction without a finite decimal form are not decided here: 0.333333 may stand for 1/3.
    """
    if len(given) > LONGEST:
        return False
    a, b = exact_number(given), exact_number(gold)
    if a is not None and b is not None:
        return True if a == b else None if _rounded(given, b) or _rounded(gold, a) else False
    if b is not None and not _NUMERIC.search(given):
        return False
    return True if _plain(given) == _plain(gold) else None


def exact_number(text: str) -> Fraction | None:
    """The number that `text` is, None when it is anything else."""
    if len(text) > LONGEST or _SCALES.search(text) or "%" in text:
        return None
    found = _ASSIGNED.sub("", _tidy(text))
    found = _UNIT_WORDS.sub("", _UNIT.sub("", _DEGREES.sub("", found)))
    found = _SHORT_FRAC.sub(lambda match: f" {match[1] or match[2]}/{match[3] or match[4]}", found).strip()
    if _NUMBER.fullmatch(found):
        return Fraction(found.replace(",", "").replace(" ", ""))
    match = _RATIO.fullmatch(found)
    if match is None or int(match["under"]) == 0:
        return None
    whole, part = int(match["whole"] or 0), Fraction(int(match["over"]), int(match["under"]))
    if match["whole"] and not 0 <= part < 1:
        return None
    return -(whole + part) if match["sign"] == "-" else whole + part


def for_algebra(text: str) -> str:
    """`text` without currency signs, units and words that a parser of formulas would stumble over, or cut it short at.

    A letter set upright is the letter ("\\mathrm{e}" is e), "and" and "or" are commas, "percent" is \\%.
    """
    found = _LETTER.sub(r"\1", _PERCENT.sub(r"\\%", _tidy(text)))
    return _AND.sub(", ", found if _SCALES.search(found) else _UNIT_WORDS.sub("", _UNIT.sub("", found)))


def _rounded(text: str, other: Fraction) -> bool:
    """Whether `text` is a decimal number that `other`, which has no finite decimal form, may have been rounded to."""
    rest = other.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest > 1 and "." in text


def _tidy(text: str) -> str:
    found = _FRAC.sub(r"\\frac", _SPACING.sub(" ", _GROUPING.sub(",", text)))
    return " ".join(found.replace("\\$", "").replace("$", "").replace("−", "-").split()).rstrip(".").strip()


def _plain(text: str) -> str:
    """`text` without spacing, styling and degrees; a word in any case, a choice without its parentheses."""
    found = _DEGREES.sub("", _WRAPPER.sub(r"\1", _tidy(text))).replace(" ", "")
    found = _SHORT_FRAC.sub(lambda m: f"\\frac{{{m[1] or m[2]}}}{{{m[3] or m[4]}}}", found)
    if choice := _CHOICE.fullmatch(found):
        found = choice[1]
    return found.casefold() if found.isalpha() and len(found) > 1 else found
