"""Which answer a text commits to.

In this order: the last \\boxed{...}; what follows the last "####", "answer is" or "answer:"; the whole text when it is
nothing but an answer; and else, in prose, the last formula between $ signs or the one number there is. A text that
merely lists numbers commits to none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from esagent.tasks.math.exact import LONGEST
from esagent.tasks.scorers import stated_number

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_SHORT_BOX = re.compile(r"\\boxed\s+(-?\w+)")
_MARK = re.compile(r"####|\banswer\s+is\b:?|\banswer\s*:", re.IGNORECASE)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_COMMANDS = re.compile(
    r"\\(?:text|mbox|mathrm|textbf|textnormal)\s*\{[^{}]*\}|\\(?:begin|end)\s*\{[a-z]+\*?\}|\\[a-zA-Z]+"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_MATHS = re.compile(r"[\d\\^_+*/=<>()\[\]{}]")

_WORDS_WITH_MATHS = 3
"""Words that may stand beside numbers and signs in an answer: a unit, "and"."""

_WORDS_BESIDE_FORMULA = 1
"""Words that may stand beside a formula between $ signs: a unit."""

_CONSIDERED = 4000
"""Characters at the end of a text that are searched."""


@dataclass(frozen=True)
class Reading:
    """plain: the answer stood where an answer belongs, boxed, marked or alone; otherwise it was found in prose."""

    value: str
    plain: bool


def read_answer(text: str) -> Reading | None:
    """The answer that `text` commits to; None when it is empty, or commits to none or to several."""
    text = text.strip()[-_CONSIDERED:]
    boxed = _last_box(text)
    if boxed is not None:
        return Reading(boxed, True) if boxed else None
    for candidate in (_marked(text), text):
        if is_value(candidate) and (value := _bare(candidate)):
            return Reading(value, True)
    formulas = [next(filter(None, match.groups())) for match in _FORMULA.finditer(text)]
    if formulas and is_value(formulas[-1]) and (value := _bare(formulas[-1])):
        return Reading(value, False)
    number = stated_number(text)
    return Reading(str(number), False) if number is not None else None


def is_value(text: str) -> bool:
    """Whether `text` can be an answer by itself: one short line of mathematics with few words, or a single word."""
    text = text.strip()
    if not text or "\n" in text or len(text) > LONGEST:
        return False
    words = len(_WORD.findall(_COMMANDS.sub(" ", text)))
    formulas = list(_FORMULA.finditer(text))
    if formulas:
        return len(formulas) == 1 and len(_WORD.findall(_FORMULA.sub(" ", text))) <= _WORDS_BESIDE_FORMULA
    if _MATHS.search(text):
        return words <= _WORDS_WITH_MATHS and not _listed(text)
    return words == 1 or (words == 0 and any(map(str.isalnum, text)))


def _listed(text: str) -> bool:
    """Whether more numbers follow each other with nothing between them than a grouped or mixed number has."""
    return re.search(r"(?<![\d/.])\d+(?:\s+\d+){3,}", text) is not None


def _marked(text: str) -> str:
    """What follows the last mark, to the end of its line; "" without one."""
    marks = list(_MARK.finditer(text))
    return text[marks[-1].end() :].strip().partition("\n")[0] if marks else ""


def _bare(text: str) -> str:
    """What counts of an answer: its formula, where there is one, and no signs that end a sentence or set it off."""
    formula = _FORMULA.search(text)
    found = next(filter(None, formula.groups())) if formula else text
    return found.strip().strip("*`\"'").rstrip(".!").strip("*`\"' ")


def _last_box(text: str) -> str | None:
    """The content of the last box, "" when it is not closed, None without one."""
    boxes = list(_BOX.finditer(text))
    if not boxes:
        short = _SHORT_BOX.findall(text)
        return short[-1] if short else None
    start, depth = boxes[-1].end(), 0
    for at in range(start, len(text)):
        escaped = at > 0 and text[at - 1] == "\\"
        depth += 0 if escaped else (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start + 1 : at].strip()
    return ""
