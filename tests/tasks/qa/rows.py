"""Rows of question-answering data in the shapes in which they are published, made up for these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TOWNS = ("Ravel", "Dorin", "Pask", "Ullem", "Hest", "Brann", "Cole", "Fisk", "Gant", "Jorl")
FOUNDERS = ("Ida Born", "Otto Lund", "Mia Falk", "Per Holm", "Eva Strand", "Jan Berg", "Ole Vik", "Kari Dahl")


def hotpot(number: int) -> dict[str, Any]:
    """A question of two hops: the museum stands in a town, which a person founded. One paragraph leads astray."""
    town, founder = f"{TOWNS[number % 10]}stad{number}", f"{FOUNDERS[number % 8]} {number}th"
    return {
        "_id": f"q{number}",
        "question": f"Who laid the first stone of the settlement around museum {number}?",
        "answer": founder,
        "supporting_facts": [[f"Museum {number}", 0], [town, 1]],
        "context": [
            [f"Museum {number}", [f"Museum {number} is a museum.", f" It stands in {town}."]],
            [town, [f"{town} is a settlement.", f" It was founded by {founder}."]],
            [f"Lake {number}", ["A lake.", " Nobody lives there."]],
        ],
    }


def columns(row: dict[str, Any]) -> dict[str, Any]:
    """The same row with its context and facts in columns."""
    titles, sentences = zip(*row["context"], strict=True)
    named, places = zip(*row["supporting_facts"], strict=True)
    facts = {"title": list(named), "sent_id": list(places)}
    return {**row, "context": {"title": list(titles), "sentences": list(sentences)}, "supporting_facts": facts}


NATURAL = {
    "example_id": 7,
    "question_text": "when did the bridge open",
    "document_title": "The bridge",
    "document_text": "<P> The bridge is long . </P> <P> It opened in <B> May 1902 </B> . </P>",
    "long_answer_candidates": [
        {"start_token": 0, "end_token": 7, "top_level": True},
        {"start_token": 7, "end_token": 17, "top_level": True},
        {"start_token": 8, "end_token": 16, "top_level": False},
    ],
    "annotations": [
        {
            "long_answer": {"start_token": 7, "end_token": 17, "candidate_index": 1},
            "short_answers": [{"start_token": 12, "end_token": 14}],
            "yes_no_answer": "NONE",
        }
    ],
}


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return path
