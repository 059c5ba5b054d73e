"""search(query): the article of a collection that a query finds, ranked by BM25 (the library bm25s).

Ranking is a function of the articles in their order and of the set of the query's words alone: equal scores go to the
earlier article, and neither the order of the words nor a process's hash seed changes a bit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.values import described, text

SNIPPET = 190
"""Most characters of an article that a search shows; a longer one is cut to the sentences that fit the query."""

K1, B = 1.5, 0.75
"""Saturation of a word's count and weight of an article's length in BM25, as Lucene has them by default."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


@dataclass(frozen=True)
class Document:
    """An article. Its title counts as part of its text."""

    title: str
    text: str


class SearchIndex:
    """BM25 over `documents`, built once. Raises ValueError where there are none."""

    def __init__(self, documents: Sequence[Document]) -> None:
        import bm25s

        if not documents:
            raise ValueError("an index needs at least one document")
        self.documents = tuple(documents)
        found = [words(f"{document.title} {document.text}") for document in self.documents]
        self._vocabulary = {word: i for i, word in enumerate(sorted({word for line in found for word in line}))}
        ids = [[self._vocabulary[word] for word in line] for line in found]
        self._model: Any = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
        # With the vocabulary given: the library's own would be in the order of a set.
        self._model.index((ids, dict(self._vocabulary)), show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """BM25 of every document: float64 [documents], 0 where no word of the query occurs."""
        known = sorted({self._vocabulary[word] for word in words(query) if word in self._vocabulary})
        if not known:
            return np.zeros(len(self.documents))
        return np.asarray(self._model.get_scores_from_ids(known), dtype=np.float64)

    def find(self, query: str, k: int = 1) -> list[Document]:
        """The best `k` documents that hold a word of the query, best first."""
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        return [self.documents[i] for i in order if scores[i] > 0]


def words(line: str) -> list[str]:
    """The words that count for a search, as bm25s cuts them: lower case, two letters or more, no English stop words."""
    import bm25s

    (found,) = bm25s.tokenize([line], stopwords="en", return_ids=False, show_progress=False)
    return list(found)


def snippet(document: Document, query: str, most: int = SNIPPET) -> str:
    """What a search shows of a document: all of it where that is short enough, else the sentences nearest the query.

    The title stands before a text that does not begin with it.
    """
    begins = document.text.startswith(document.title)
    lead = "" if begins or not document.title else f"{document.title}: "
    whole = lead + " ".join(document.text.split())
    if len(whole) <= most:
        return whole
    wanted = set(words(query)) - set(words(document.title))
    sentences = _SENTENCE.split(whole.removeprefix(lead))
    order = sorted(range(len(sentences)), key=lambda i: -len(wanted & set(words(sentences[i]))))
    kept: list[int] = []
    for i in order:
        if len(lead) + sum(len(sentences[j]) + 1 for j in (*kept, i)) <= most + 1:
            kept.append(i)
    if not kept:
        return f"{lead}{sentences[order[0]]}"[: most - 3].rstrip() + "..."
    return lead + " ".join(sentences[i] for i in sorted(kept))


def make_search(name: str, description: str, index: SearchIndex) -> Tool:
    """A tool that shows the best article of `index` for a query."""

    def search(query: str) -> str:
        found = index.find(query)
        if not found:
            raise ToolError(f"nothing was found for {shorten(query)}")
        return snippet(found[0], query)

    return Tool(name, description, {"query": Parameter(described("string", "words to search for"), text)}, search)
