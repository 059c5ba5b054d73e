"""Rows of question-answering data sets as they are published, read from JSON lines.

    HotpotQA (arXiv 1809.09600)    question, answer, context [[title, [sentence, ...]], ...], supporting_facts
                                   [[title, sentence], ...]; also with `title` and `sentences` in columns
    Natural Questions, open        question, answer or answers (a list), no context
    Natural Questions, simplified  question_text, annotations, document_text, long_answer_candidates; rows without a
                                   short answer are left out
    others alike                   golden_answers in place of answers; context, contexts, ctxs or paragraphs of
                                   {title, text} or, as MuSiQue has it, {title, paragraph_text, is_supporting}

Rows may say which split they belong to under `split`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.tasks.base import Split
from esagent.tasks.jsonl import named_split
from esagent.tasks.lines import field, read_lines
from esagent.tools.search import Document

_TAG = re.compile(r"<[^>]{1,20}>")
_ANSWERS = ("answer", "answers", "golden_answers")
_CONTEXTS = ("context", "contexts", "ctxs", "paragraphs")


@dataclass(frozen=True)
class Row:
    """answers: all that are right. paragraphs: what the row brings along. supporting: titles of those it rests on."""

    line: int
    question: str
    answers: tuple[str, ...]
    split: Split | None
    paragraphs: tuple[Document, ...]
    supporting: tuple[str, ...]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, but for those that repeat an earlier question. Raises ConfigError naming every bad line."""
    seen: set[str] = set()
    rows = []
    for _, row in read_lines(path, _row):
        if row is not None and row.question not in seen:
            seen.add(row.question)
            rows.append(row)
    return rows


def _row(line: int, given: Mapping[str, Any]) -> Row | None:
    question = field(given, "question", "question_text")
    try:
        if "document_text" in given and "annotations" in given:
            answers, paragraphs, supporting = _natural(given)
            if not answers:
                return None
        else:
            answers = _answers(given)
            paragraphs, supporting = _context(given)
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"neither of HotpotQA's nor of Natural Questions' shape ({error})") from error
    return Row(line, question, answers, named_split(given.get("split")), paragraphs, supporting)


def _answers(given: Mapping[str, Any]) -> tuple[str, ...]:
    name = next((name for name in _ANSWERS if name in given), _ANSWERS[0])
    value = given.get(name)
    if isinstance(value, Mapping):  # as SQuAD has it
        value = value.get("text")
    if not isinstance(value, list):
        return (field(given, *_ANSWERS),)
    found = tuple(field({name: item}, name) for item in value)
    if not found:
        raise ValueError(f"no answer under {name!r}")
    return found


def _context(given: Mapping[str, Any]) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Paragraphs, and titles of the supporting ones in the order in which the row names them."""
    value: Any = next((given[name] for name in _CONTEXTS if given.get(name)), [])
    if isinstance(value, Mapping):
        if len(value["title"]) != len(value["sentences"]):
            raise TypeError("as many titles as lists of sentences are needed")
        value = list(zip(value["title"], value["sentences"], strict=True))
    if not isinstance(value, list):
        raise TypeError(f"{str(value)[:40]!r} is not a list of paragraphs")
    paragraphs, supporting = [], []
    for item in value:
        if isinstance(item, Mapping):
            text = _text(item["text"] if "text" in item else item["paragraph_text"])
            paragraphs.append(Document(_text(item.get("title") or ""), text))
            if item.get("is_supporting"):
                supporting.append(paragraphs[-1].title)
        else:
            if len(item) != 2:
                raise TypeError(f"{str(item)[:40]!r} is not a title with sentences")
            title, sentences = item
            joined = sentences if isinstance(sentences, str) else " ".join(map(_text, sentences))
            paragraphs.append(Document(_text(title), _text(joined)))
    facts = given.get("supporting_facts") or []
    titles = facts["title"] if isinstance(facts, Mapping) else [fact[0] for fact in facts]
    known = {paragraph.title for paragraph in paragraphs}
    return tuple(paragraphs), _once(title for title in (*supporting, *titles) if title in known)


def _natural(given: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Document, ...], tuple[str, ...]]:
    """Short answers, and the paragraphs of the page with numbers in their titles, for all of them have one."""
    tokens = given["document_text"].split(" ")
    title = _text(given.get("document_title") or "page")
    candidates = [part for part in given.get("long_answer_candidates") or [] if part.get("top_level", True)]
    spans = [(part["start_token"], part["end_token"]) for part in candidates]
    paragraphs = [Document(f"{title} ({i})", _plain(tokens, *span)) for i, span in enumerate(spans, start=1)]
    answers, supporting = [], []
    for annotation in given["annotations"]:
        short = [_plain(tokens, part["start_token"], part["end_token"]) for part in annotation["short_answers"]]
        closed = str(annotation.get("yes_no_answer", "NONE")).lower()
        answers += short or ([closed] if closed in ("yes", "no") else [])
        at = (annotation.get("long_answer") or {}).get("start_token", -1)
        supporting += [p.title for p, (start, end) in zip(paragraphs, spans, strict=True) if start <= at < end]
    kept = tuple(paragraph for paragraph in paragraphs if paragraph.text)
    return _once(filter(None, answers)), kept, _once(supporting)


def _plain(tokens: list[str], start: int, end: int) -> str:
    return " ".join(_TAG.sub(" ", " ".join(tokens[start:end])).split())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is not a text")
    return " ".join(value.encode("utf-8", "replace").decode().split())


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
