"""A fictional universe: people, places, works, groups and events, what holds between them, and an article on each."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from esagent.core.noise import key
from esagent.tasks.base import Split
from esagent.tasks.qa import names
from esagent.tasks.qa.relations import RELATIONS, SECTIONS
from esagent.tasks.qa.wordings import ARTICLES
from esagent.tasks.toolbox.draw import Draw
from esagent.tools.search import Document, SearchIndex

SIZES = {"people": 120, "places": 30, "works": 60, "groups": 30, "events": 30}
"""Articles by section."""

EVERYTHING = "search"
"""Name of the tool that searches all sections at once."""

FIRST_YEAR, LAST_YEAR = 1700, 1999


@dataclass(frozen=True)
class World:
    """One universe. No two of its things have the same name.

    facts: name -> relation -> value, of direct relations. kinds: name -> its section. indices: the search index of
    every section, and of all of them under `EVERYTHING`.
    """

    facts: Mapping[str, Mapping[str, str]]
    kinds: Mapping[str, str]
    indices: Mapping[str, SearchIndex]

    def names(self, kind: str) -> tuple[str, ...]:
        """All things of a kind, in their order."""
        return _of_kind(self.kinds, kind)

    def article(self, relation: str, thing: str) -> str | None:
        """Title of the article that says what `relation` gives for `thing`; None when there is none."""
        found = RELATIONS[relation]
        if self.kinds.get(thing) != found.takes:
            return None
        if not found.inverse:
            return thing
        return next((name for name in self.names(found.gives) if self.facts[name][found.inverse] == thing), None)

    def value(self, relation: str, title: str) -> str | None:
        """What the article `title` says of a relation; None when it is of another section."""
        found = RELATIONS[relation]
        if self.kinds.get(title) != found.section:
            return None
        return title if found.inverse else self.facts[title][relation]

    def follow(self, relation: str, thing: str) -> str | None:
        """What `relation` gives for `thing`."""
        title = self.article(relation, thing)
        return None if title is None else self.value(relation, title)


def _of_kind(kinds: Mapping[str, str], kind: str) -> tuple[str, ...]:
    return tuple(name for name, of in kinds.items() if of == kind)


@functools.cache
def make_world(universe: int, split: Split) -> World:
    """The world of a split in a universe; worlds of two splits share no name. Made and indexed once per process."""
    draw = Draw(key("qa", "world", universe, split), split)
    found = {kind: draw.sample(pool, SIZES[kind]) for kind, pool in _pools(split)}
    facts = dict(_facts(draw, found))
    kinds = {name: kind for kind in SECTIONS for name in found[kind]}
    articles = {kind: [_article(draw, kind, name, facts[name]) for name in found[kind]] for kind in SECTIONS}
    indices = {kind: SearchIndex(documents) for kind, documents in articles.items()}
    indices[EVERYTHING] = SearchIndex([document for kind in SECTIONS for document in articles[kind]])
    return World(facts, kinds, indices)


def phrase(kind: str, name: str) -> str:
    """A thing as a sentence names it."""
    return f"the {name}" if kind in ("groups", "events") else name


def _pools(split: Split) -> Iterator[tuple[str, list[str]]]:
    """All names that things of a kind can have."""
    yield "people", [f"{a} {b}" for a in names.FIRST_NAMES[split] for b in names.LAST_NAMES[split]]
    yield "places", [f"{a}{b}" for a in names.PLACE_STARTS[split] for b in names.PLACE_ENDS[split]]
    yield "works", [f"The {a} {b}" for a in names.ADJECTIVES[split] for b in names.NOUNS[split]]
    yield "groups", [f"{a} {b}" for a in names.GROUP_WORDS[split] for b in names.GROUP_ENDS[split]]
    yield "events", [f"{a} {b}" for a in names.EVENT_WORDS[split] for b in names.EVENT_ENDS[split]]


def _facts(draw: Draw, found: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Facts of every thing. Relations that can be read backwards give each person to one thing at most."""
    words = {"trade": names.TRADES, "river": names.RIVERS, "product": names.PRODUCTS}
    backwards = {relation.inverse for relation in RELATIONS.values()}
    once = {name: iter(draw.sample(found["people"], SIZES[RELATIONS[name].takes])) for name in sorted(backwards - {""})}
    for kind in SECTIONS:
        of_kind = [relation for relation in RELATIONS.values() if relation.takes == kind and not relation.inverse]
        for thing in found[kind]:
            facts: dict[str, str] = {}
            for relation in of_kind:
                if relation.name in once:
                    facts[relation.name] = next(once[relation.name])
                elif relation.gives:
                    facts[relation.name] = draw.pick(found[relation.gives])
                elif relation.name in words:
                    facts[relation.name] = draw.pick(words[relation.name][draw.split])
                else:
                    facts[relation.name] = str(draw.number(FIRST_YEAR, LAST_YEAR))
            yield thing, facts


def _article(draw: Draw, kind: str, name: str, facts: Mapping[str, str]) -> Document:
    sentence = draw.pick(ARTICLES[kind][draw.split])
    form = draw.pick(names.FORMS[draw.split])
    return Document(name, sentence.format(name=name, form=form, **facts))
