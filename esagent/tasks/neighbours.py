"""Groups of near-duplicate texts, so that none of a group can stand in one split and another in the next.

Two texts are neighbours when at least half of their shingles (runs of four words, numbers and case left out of account)
are the same, |A and B| / |A or B| >= 0.5 (Broder 1997, "On the resemblance and containment of documents"). Groups are
the connected components.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WORDS = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_SHINGLE = 4
_ALIKE = 0.5
_COMMON = 64
"""A shingle that so many texts have tells nothing about any two of them; it does not make them candidates."""


def normalised(text: str) -> str:
    """The words of `text` in lower case, every number replaced by 0, without signs."""
    return " ".join("0" if word[0].isdigit() else word.casefold() for word in _WORDS.findall(text))


def near_duplicates(texts: Sequence[str]) -> list[int]:
    """For every text the index of the first one in its group."""
    first = list(range(len(texts)))

    def root(at: int) -> int:
        while first[at] != at:
            first[at] = first[first[at]]
            at = first[at]
        return at

    known: list[frozenset[str]] = []
    holders: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        shingles = _shingles(normalised(text))
        shared = Counter(other for part in shingles for other in _few(holders.get(part, ())))
        for other, count in shared.items():
            union = len(shingles) + len(known[other]) - len(shingles & known[other])
            if 2 * count >= _ALIKE * union and len(shingles & known[other]) >= _ALIKE * union:
                low, high = sorted((root(at), root(other)))
                first[high] = low
        for part in shingles:
            holders.setdefault(part, []).append(at)
        known.append(shingles)
    return [root(at) for at in range(len(texts))]


def _shingles(text: str) -> frozenset[str]:
    """Runs of four words; a shorter text is one run."""
    words = text.split()
    return frozenset(" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1)))


def _few(holders: Sequence[int]) -> Sequence[int]:
    return holders if len(holders) <= _COMMON else ()
