"""Worlds: their articles say what is so, a name finds them, and splits share nothing."""

from __future__ import annotations

import itertools
import re

import pytest

from esagent.tasks.qa import names
from esagent.tasks.qa.environment import SPLITS
from esagent.tasks.qa.relations import RELATIONS, SECTIONS, chains, pairs
from esagent.tasks.qa.wordings import ARTICLES, PHRASES, QUESTIONS
from esagent.tasks.qa.world import EVERYTHING, SIZES, World, make_world
from esagent.tools.search import SNIPPET, snippet

WORLDS = {split: make_world(0, split) for split in SPLITS}


@pytest.fixture(params=SPLITS)
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]


def test_every_fact_stands_in_its_article(world: World) -> None:
    texts = {document.title: document.text for document in world.indices[EVERYTHING].documents}
    assert len(texts) == sum(SIZES.values()) == len(world.facts)
    for name, facts in world.facts.items():
        assert set(facts) == {r.name for r in RELATIONS.values() if r.takes == world.kinds[name] and not r.inverse}
        assert name in texts[name]
        assert all(value in texts[name] for value in facts.values())


def test_a_search_shows_articles_whole(world: World) -> None:
    for document in world.indices[EVERYTHING].documents:
        shown = snippet(document, "")
        assert len(shown) <= SNIPPET
        assert shown.endswith(document.text)


def test_a_name_finds_what_a_relation_gives(world: World) -> None:
    """Also backwards, where the name stands in the article of another thing; and with all articles, forwards."""
    asked = 0
    for relation in RELATIONS.values():
        for thing in world.names(relation.takes):
            title = world.article(relation.name, thing)
            if title is None:
                assert relation.inverse
                continue
            asked += 1
            assert world.indices[relation.section].find(thing)[0].title == title
            if not relation.inverse:
                assert world.indices[EVERYTHING].find(thing)[0].title == title
    assert asked > 900


def test_inverse_relations_undo_direct_ones(world: World) -> None:
    for relation in RELATIONS.values():
        if relation.inverse:
            for thing in world.names(relation.gives):
                assert world.follow(relation.name, world.facts[thing][relation.inverse]) == thing


def test_what_is_not_there_is_none() -> None:
    world = WORLDS["train"]
    person, place = world.names("people")[0], world.names("places")[0]
    assert world.article("author", person) is None
    assert world.value("author", place) is None
    assert world.follow("birthplace", "Nobody") is None


def test_another_universe_has_other_facts_of_the_same_kind() -> None:
    other = make_world(1, "train")
    assert set(other.names("people")) != set(WORLDS["train"].names("people"))
    assert not set(other.names("people")) & set(WORLDS["heldout"].names("people"))


def _disjoint(by_split: dict[str, set[str]]) -> bool:
    return len(set().union(*by_split.values())) == sum(map(len, by_split.values()))


def test_splits_share_no_word_of_a_name_and_no_year() -> None:
    pools = [value for name, value in vars(names).items() if name.isupper()]
    assert len(pools) == 14
    assert _disjoint({split: {word.casefold() for pool in pools for word in pool[split]} for split in SPLITS})
    assert _disjoint({split: set(world.facts) for split, world in WORLDS.items()})
    values = {split: {v for facts in world.facts.values() for v in facts.values()} for split, world in WORLDS.items()}
    years = {split: set(filter(str.isdecimal, found)) for split, found in values.items()}
    assert _disjoint(years)
    assert all(len(found) > 30 for found in years.values())


def test_splits_share_no_sentence() -> None:
    """With every slot alike, so that two that differ in the names of slots only count as one."""
    by_split: dict[str, set[str]] = {split: set() for split in SPLITS}
    for sentences in (*QUESTIONS.values(), *PHRASES.values(), *ARTICLES.values()):
        for split in SPLITS:
            by_split[split] |= {re.sub(r"\{\w+\}", "_", text).casefold() for text in sentences[split]}
    assert _disjoint(by_split)
    assert set(QUESTIONS) == set(RELATIONS)
    assert set(PHRASES) == {name for name, r in RELATIONS.items() if r.gives and not r.inverse}
    assert set(ARTICLES) == set(SECTIONS)


def test_splits_share_no_pair_of_relations() -> None:
    assert _disjoint({split: set(map(str, pairs(split))) for split in SPLITS})
    for split in SPLITS:
        for chain in chains(split, 3, inverse=True):
            assert all(RELATIONS[a].gives == RELATIONS[b].takes for a, b in itertools.pairwise(chain))
            assert not any(RELATIONS[name].inverse for name in chain[:-1])
        assert len(chains(split, 3, inverse=False)) >= 4
