"""Search: BM25 against the formula, ties, and what is shown of an article."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.tools.search import K1, B, Document, SearchIndex, make_search, snippet, words

TEXTS = (
    "river bridge river stone",
    "bridge stone",
    "apple pear plum river garden garden garden wall",
    "stone bridge",
)
INDEX = SearchIndex([Document(f"T{i}", text) for i, text in enumerate(TEXTS)])


def reference(query: str) -> list[float]:
    """Robertson and Zaragoza's formula with Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), in plain Python."""
    documents = [Counter(words(f"T{i} {text}")) for i, text in enumerate(TEXTS)]
    mean = sum(d.total() for d in documents) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in set(words(query)):
            n = sum(word in d for d in documents)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            count = document[word]
            score += idf * count / (count + K1 * (1 - B + B * document.total() / mean))
        scores.append(score)
    return scores


@given(st.lists(st.sampled_from(["river", "bridge", "stone", "garden", "plum", "absent", "the"]), max_size=6))
def test_scores_are_those_of_the_formula_and_of_the_set_of_words(query: list[str]) -> None:
    found = INDEX.scores(" ".join(query)).tolist()
    assert found == pytest.approx(reference(" ".join(query)), abs=1e-6)
    assert INDEX.scores(" ".join(reversed(query + query))).tolist() == found


def test_equal_scores_go_to_the_earlier_article() -> None:
    assert [d.title for d in INDEX.find("stone bridge", 4)] == ["T1", "T3", "T0"]
    assert [d.title for d in INDEX.find("bridge stone", 4)] == ["T1", "T3", "T0"]


def test_what_nothing_matches_finds_nothing() -> None:
    assert INDEX.find("absent") == INDEX.find("") == INDEX.find("the of") == []
    with pytest.raises(ValueError, match="at least one document"):
        SearchIndex([])


def test_the_same_in_a_process_with_another_hash_seed_and_after_a_pickle() -> None:
    code = (
        "from tests.tools.test_search import INDEX\n"
        "print([INDEX.scores(q).tolist() for q in ('stone bridge', 'river garden wall')])"
    )
    env = {**os.environ, "PYTHONHASHSEED": "5"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    here = [INDEX.scores(query).tolist() for query in ("stone bridge", "river garden wall")]
    assert done.stdout.strip() == str(here)
    again = pickle.loads(pickle.dumps(INDEX))
    assert again.scores("stone bridge").tolist() == here[0]


def test_the_tool() -> None:
    search = make_search("search", "Search.", INDEX)
    assert search.run({"query": "plum"}).output == f"T2: {TEXTS[2]}"
    for arguments, error in (
        ({"query": "absent"}, "search: nothing was found for 'absent'"),
        ({}, "search: missing argument query; expected query"),
        ({"query": ["plum"]}, "search: query: \"['plum']\" is not text"),
        ({"query": "x" * 301}, "search: query: longer than 300 characters"),
    ):
        result = search.run(arguments)
        assert not result.ok
        assert result.output.replace('"', "'") == error.replace('"', "'")


def test_a_long_article_is_cut_to_the_sentences_that_fit_the_query() -> None:
    text = "The lake is deep. Its fish are blue. Nobody swims. " + "It rains a lot there. " * 9
    article = Document("Lake Orn", text)
    assert snippet(article, "fish in Lake Orn", 60) == "Lake Orn: The lake is deep. Its fish are blue. Nobody swims."
    assert snippet(article, "who swims", 40) == "Lake Orn: Nobody swims."
    assert snippet(Document("Lake Orn", "Lake Orn is deep."), "fish") == "Lake Orn is deep."
    assert snippet(Document("", "word " * 100), "fish", 40) == "word word word word word word word wo..."


@given(st.text(max_size=400), st.text(max_size=40), st.text(max_size=40), st.integers(60, 200))
def test_a_snippet_is_never_longer_than_asked(text: str, title: str, query: str, most: int) -> None:
    assert len(snippet(Document(title, text), query, most)) <= most
