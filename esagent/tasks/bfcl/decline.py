"""Whether a text says that nothing on offer fits."""

from __future__ import annotations

import re

NONE = "none"
"""What a selector writes in place of a tool, and what a model without a word for it is shown as an answer."""

_SHORT = re.compile(r"\W*(none|nothing|no (?:suitable |such |matching )?(?:tools?|functions?))\b", re.IGNORECASE)
_REFUSALS = re.compile(
    r"\bnone of the\b|\bno (?:\w+ )?(?:tool|function)s?\b|\b(?:can(?:no|')t|can not|unable to|not able to)\b"
    r"|\b(?:do not|don't|does not|doesn't) have\b|\bnot (?:possible|available|supported)\b",
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """Whether `text` begins with "none" or with no tool or function, or says in English that it cannot be done."""
    return bool(_SHORT.match(text) or _REFUSALS.search(text))
