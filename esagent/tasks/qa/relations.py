"""What holds between the things of a world, and which relations may follow each other in one question.

A fact stands in one article, which belongs to one section of the encyclopedia. A direct relation is asked of the
article's own subject ("who wrote The Silver Harbor"), an inverse one of what an article names ("what did Anna Barlow
write"): its article is about the answer, and only the search can find it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from esagent.tasks.base import Split

SECTIONS = ("people", "places", "works", "groups", "events")

Chain = tuple[str, ...]
"""Names of relations, the first one asked of the thing that the question names."""


@dataclass(frozen=True)
class Relation:
    """takes: the kind of thing it is asked of. gives: the kind of its answer; "" for a word or a year.

    section: where the article stands. inverse: the direct relation that it reads backwards, "" when it is direct.
    cues: words one of which a step of a plan must hold to mean this relation.
    """

    name: str
    takes: str
    gives: str
    cues: tuple[str, ...]
    inverse: str = ""

    @property
    def section(self) -> str:
        """The kind of thing that the article with the fact is about."""
        return self.gives if self.inverse else self.takes


def _table() -> Iterator[Relation]:
    def relation(name: str, takes: str, gives: str, cues: str, inverse: str = "") -> Relation:
        return Relation(name, takes, gives, tuple(cues.split()), inverse)

    yield relation("birthplace", "people", "places", "born birth birthplace native")
    yield relation("birthyear", "people", "", "born birth birthyear life")
    yield relation("trade", "people", "", "trade profession occupation job work living")
    yield relation("employer", "people", "groups", "employer employs employed work works working hired wages")
    yield relation("author", "works", "people", "author wrote written write writer penned")
    yield relation("setting", "works", "places", "set setting place plays play scene happens story")
    yield relation("published", "works", "", "published publication appear appeared come out printed print")
    yield relation("mayor", "places", "people", "mayor governs govern head leads runs")
    yield relation("river", "places", "", "river water banks")
    yield relation("product", "places", "", "known produce product famous make made goods sells")
    yield relation("founder", "groups", "people", "founder founded found started set created")
    yield relation("seat", "groups", "places", "seat based houses home office")
    yield relation("founded", "groups", "", "founded founding started set existed")
    yield relation("winner", "events", "people", "winner won win champion first prize")
    yield relation("host", "events", "places", "held hosts host welcomes stages go")
    yield relation("opened", "events", "", "first begin began opening held been")
    yield relation("work", "people", "works", "work write wrote written title pen", "author")
    yield relation("town", "people", "places", "govern governs mayor heads led runs", "mayor")
    yield relation("group", "people", "groups", "found founded founder started set created", "founder")
    yield relation("event", "people", "events", "win won winner champion first prize", "winner")


RELATIONS: dict[str, Relation] = {relation.name: relation for relation in _table()}

DIRECT = tuple(name for name, relation in RELATIONS.items() if not relation.inverse)

_DEAL: tuple[Split, ...] = (*("heldout", "train", "train", "validation", "validation", "train", "heldout", "heldout"),)
"""Pairs of relations are dealt out in this order, which leaves every split chains of three."""


@functools.cache
def pairs(split: Split) -> frozenset[tuple[str, str]]:
    """Which relation may follow which; no pair belongs to two splits, so longer questions are new compositions.

    A relation does not undo the one before it, and an inverse one only ends a question: the article that it finds holds
    what would be asked next.
    """
    fitting = [
        (first, second)
        for first, a in RELATIONS.items()
        for second, b in RELATIONS.items()
        if a.gives and not a.inverse and a.gives == b.takes and first != b.inverse
    ]
    return frozenset(pair for i, pair in enumerate(fitting) if _DEAL[i % len(_DEAL)] == split)


@functools.cache
def chains(split: Split, hops: int, *, inverse: bool) -> tuple[Chain, ...]:
    """All chains of so many relations. inverse: whether relations may be read backwards."""
    names = tuple(RELATIONS) if inverse else DIRECT
    found: list[Chain] = [(name,) for name in names]
    for _ in range(hops - 1):
        found = [(*chain, name) for chain in found for name in names if (chain[-1], name) in pairs(split)]
    return tuple(found)
