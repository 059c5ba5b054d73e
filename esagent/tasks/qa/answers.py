"""Exact match and F1 of an answer, both without case, articles and punctuation, as of SQuAD (arXiv 1606.05250)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})
"""Answers that share no credit with any other, as HotpotQA has it (arXiv 1809.09600)."""


def normalised(answer: str) -> str:
    """`answer` in lower case without punctuation, articles and surplus blanks; with them where nothing else is left."""
    lower = answer.lower()
    return " ".join(_ARTICLES.sub(" ", lower.translate(_PUNCTUATION)).split()) or " ".join(lower.split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """1 when the answer is one of `accepted`, normalised; an empty answer is none of them."""
    given = normalised(answer)
    return float(bool(given) and any(given == normalised(gold) for gold in accepted))


def f1(answer: str, accepted: Sequence[str]) -> float:
    """The best F1 over `accepted`: with c words in common of g given and w wanted, 2c / (g + w)."""
    return max((_f1(normalised(answer), normalised(gold)) for gold in accepted), default=0.0)


def _f1(given: str, wanted: str) -> float:
    if given != wanted and {given, wanted} & _CLOSED:
        return 0.0
    a, b = Counter(given.split()), Counter(wanted.split())
    return 2 * (a & b).total() / (a.total() + b.total()) if a and b else 0.0
