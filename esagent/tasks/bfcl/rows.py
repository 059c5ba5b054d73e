"""The rows that tasks are made of: one question each, or a whole conversation (dialogues.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esagent.core.episode import ToolSpec
from esagent.tasks.bfcl.accepted import LEFT_OUT
from esagent.tasks.bfcl.filtered import BAD
from esagent.tasks.bfcl.functions import tool_spec
from esagent.tasks.bfcl.package import read_rows

QUESTIONS: Mapping[str, str] = {
    "simple": "simple_python",
    "multiple": "multiple",
    "parallel": "parallel",
    "parallel_multiple": "parallel_multiple",
    "irrelevance": "irrelevance",
}
"""Categories of single questions, and what their files are called."""


@dataclass(frozen=True)
class Row:
    """texts: what the user says, in order. tools: those of the first message. names: of every function ever offered."""

    id: str
    category: str
    texts: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    names: frozenset[str]
    payload: Mapping[str, Any]


def question_rows(category: str, keep: bool = False) -> list[Row]:
    """The rows of a category of single questions, in the order of the file. keep: also those of `filtered.BAD`.

    payload: `calls`, a right call each; `accepted`, the values that are right, by argument, for each of them;
    `described`, the parameters of their functions as the data describe them. All empty where nothing is to be called.
    """
    file = f"BFCL_v4_{QUESTIONS[category]}.json"
    answers: dict[str, Sequence[Mapping[str, Any]]] = {}
    if category != "irrelevance":
        answers = {row["id"]: row["ground_truth"] for row in read_rows(f"possible_answer/{file}")}
    rows = read_rows(file)
    return [_row(row, category, answers.get(row["id"], ())) for row in rows if keep or row["id"] not in BAD]


def _row(row: Mapping[str, Any], category: str, answers: Sequence[Mapping[str, Any]]) -> Row:
    described = {function["name"]: function["parameters"] for function in row["function"]}
    named = [next(iter(answer.items())) for answer in answers]
    calls = [{"name": name, "arguments": right_values(accepted)} for name, accepted in named]
    payload = {
        "category": category,
        "calls": calls,
        "accepted": [accepted for _, accepted in named],
        "described": {name: described[name] for name, _ in named},
    }
    tools = tuple(map(tool_spec, row["function"]))
    return Row(row["id"], category, (row["question"][0][-1]["content"],), tools, frozenset(described), payload)


def right_values(accepted: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The first of the accepted values of every argument; one whose first is "left out" is left out."""
    return {name: _value(option) for name, option in _firsts(accepted).items()}


def _value(option: Any) -> Any:
    """An accepted value as it is given: dicts, also those in a list, hold accepted values by key."""
    if isinstance(option, list):
        return [_firsts(item) if isinstance(item, dict) else item for item in option]
    return _firsts(option) if isinstance(option, dict) else option


def _firsts(accepted: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: options[0] for name, options in accepted.items() if options and options[0] != LEFT_OUT}
