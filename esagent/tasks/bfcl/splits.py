"""Which split a row belongs to.

Rows that offer a function of the same name, or ask nearly the same question, go together: so no name of a function, be
it only offered, and no near copy of a question is in two splits. What hangs together by chains of such pairs is a
group. The largest, of more than a third of all questions and a like share of every category that calls, is training's;
the others are drawn by a hash of their first row. Conversations go by their API, whose functions a question may name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from esagent.core.noise import key
from esagent.tasks.base import Split
from esagent.tasks.bfcl.rows import Row

NEAR = 0.7
"""Shared words / words of both questions, from which on one counts as a near copy of the other."""

SHARES: Mapping[Split, float] = {"train": 0.15, "validation": 0.25, "heldout": 0.6}
"""Of the groups other than the largest."""

_WORD = re.compile(r"\w+")


def words(text: str) -> frozenset[str]:
    """The words of a text, in any case."""
    return frozenset(_WORD.findall(text.casefold()))


def near_pairs(texts: Sequence[frozenset[str]], near: float = NEAR) -> Iterator[tuple[int, int]]:
    """All pairs (i, j), i < j, of sets of words that share at least `near` of what they hold together.

    Two such sets share one of the rarest words of each (the first |x| - ceil(near |x|) + 1), so only sets that do are
    compared.
    """
    counts = Counter(word for text in texts for word in text)
    holders: dict[str, list[int]] = {}
    for j, text in enumerate(texts):
        rare = sorted(text, key=lambda word: (counts[word], word))[: len(text) - math.ceil(near * len(text)) + 1]
        candidates = {i for word in rare for i in holders.get(word, ())}
        for i in sorted(candidates):
            if len(texts[i] & text) >= near * len(texts[i] | text):
                yield i, j
        for word in rare:
            holders.setdefault(word, []).append(j)


def groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that must not be parted, largest group first, each in the order of `rows`."""
    parent = list(range(len(rows)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for i, row in enumerate(rows):
        for name in row.names:
            parent[root(i)] = root(first.setdefault(name, i))
    for i, j in near_pairs([words(" ".join(row.texts)) for row in rows]):
        parent[root(j)] = root(i)
    found: dict[int, list[Row]] = {}
    for i, row in enumerate(rows):
        found.setdefault(root(i), []).append(row)
    return sorted(found.values(), key=len, reverse=True)


def split_questions(rows: Sequence[Row], owners: Mapping[str, Split]) -> dict[Split, list[Row]]:
    """Every row of single questions in its split.

    owners: the split of names that conversations use; a group with such a name follows it (with names of two splits it
    is left out).
    """
    split: dict[Split, list[Row]] = {name: [] for name in SHARES}
    for place, group in enumerate(groups(rows)):
        owned = {owners[name] for row in group for name in row.names if name in owners}
        if len(owned) <= 1:
            split[owned.pop() if owned else "train" if place == 0 else _drawn(group[0].id)].extend(group)
    return split


def _drawn(row_id: str) -> Split:
    place = key("bfcl", row_id) / 2**64
    return "train" if place < SHARES["train"] else "validation" if place < 1 - SHARES["heldout"] else "heldout"
