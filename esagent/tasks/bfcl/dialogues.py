"""Conversations over simulated APIs: a user with several wishes, one after the other.

The four categories hold the same conversations: as they are (base), with much in the outputs that does not matter (long
context), with a function that is only offered one message later (missing function), and with a wish that lacks what it
takes (missing parameter). Where nothing can be done yet, nothing is to be called.

A conversation belongs to the split of the APIs that its right calls need; those of another split are not offered to it,
and a conversation that needs APIs of two splits is left out.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import ToolSpec
from esagent.tasks.base import Split
from esagent.tasks.bfcl.filtered import BAD
from esagent.tasks.bfcl.functions import tool_spec
from esagent.tasks.bfcl.package import read_rows, simulator
from esagent.tasks.bfcl.rows import Row
from esagent.tasks.bfcl.simulators import described

DIALOGUES = ("multi_turn_base", "multi_turn_long_context", "multi_turn_miss_func", "multi_turn_miss_param")

OWNERS: Mapping[str, Split] = {
    "TradingBot": "train",
    "MessageAPI": "train",
    "TicketAPI": "train",
    "GorillaFileSystem": "validation",
    "MathAPI": "validation",
    "TravelAPI": "heldout",
    "VehicleControlAPI": "heldout",
    "TwitterAPI": "heldout",
}
"""The split that may use an API."""

MORE_TOOLS = "There are more tools now. Can you do it with them?"
"""What the user says when a function that was missing is there."""


def function_owners() -> dict[str, Split]:
    """The split of every function of an API."""
    return {name: split for api, split in OWNERS.items() for name in described(api)}


def dialogue_rows(category: str, split: Split, keep: bool = False) -> list[Row]:
    """The conversations of a category that belong to `split`, in the order of the file. keep: also `filtered.BAD`.

    payload: `apis` on offer; `config`, their scenarios; `long`; `messages`, each with its `text`, the names of the
    functions `withheld` from it, and the right `calls`; `calls`, all of them together.
    """
    owners = function_owners()
    rows = []
    for row, calls in _answered(category):
        needed = {owners[call["name"]] for message in calls for call in message}
        if needed == {split} and (keep or row["id"] not in BAD):
            rows.append(_row(row, category, split, calls))
    return rows


def offered(payload: Mapping[str, Any], message: int) -> tuple[ToolSpec, ...]:
    """The tools on offer from message number `message` on."""
    withheld = payload["messages"][message]["withheld"]
    return tuple(spec for api in payload["apis"] for name, spec in _specs(api).items() if name not in withheld)


@functools.cache
def _answered(category: str) -> Sequence[tuple[Mapping[str, Any], Sequence[Sequence[Mapping[str, Any]]]]]:
    """Every conversation of a category with the right calls of each message."""
    answers = {row["id"]: row["ground_truth"] for row in read_rows(f"possible_answer/BFCL_v4_{category}.json")}
    rows = read_rows(f"BFCL_v4_{category}.json")
    return [(row, [[_parsed(text, row) for text in message] for message in answers[row["id"]]]) for row in rows]


@functools.cache
def _specs(api: str) -> Mapping[str, ToolSpec]:
    return {name: tool_spec(function) for name, function in described(api).items()}


def _row(row: Mapping[str, Any], category: str, split: Split, calls: Sequence[Sequence[Mapping[str, Any]]]) -> Row:
    apis = [api for api in row["involved_classes"] if OWNERS[api] == split]
    later = {int(at): names for at, names in row.get("missed_function", {}).items()}
    messages: list[dict[str, Any]] = []
    for at, (said, right) in enumerate(zip(row["question"], calls, strict=True)):
        withheld = {
            *row.get("excluded_function", ()),
            *(n for turn, names in later.items() if turn > at for n in names),
        }
        text = said[0]["content"] if said else MORE_TOOLS
        messages.append({"text": text, "withheld": sorted(withheld), "calls": right})
    payload = {
        "category": category,
        "calls": [call for right in calls for call in right],
        "apis": apis,
        "config": {api: row["initial_config"][api] for api in apis if api in row["initial_config"]},
        "long": category == "multi_turn_long_context",
        "messages": messages,
    }
    texts = tuple(message["text"] for message in messages)
    names = frozenset(name for api in apis for name in described(api))
    return Row(row["id"], category, texts, offered(payload, 0), names, payload)


def _parsed(text: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A right call, written as Python with plain values, as name and arguments."""
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{row['id']}: {text!r} is not a call")
    given = {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
    if call.args:
        values = [ast.literal_eval(value) for value in call.args]
        given = _by_position(call.func.id, row["involved_classes"], values) | given
    return {"name": call.func.id, "arguments": given}


def _by_position(name: str, apis: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """The arguments that values given by position mean."""
    api = next(api for api in apis if name in described(api))
    _, *parameters = inspect.signature(getattr(simulator(api), name)).parameters
    return dict(zip(parameters, values, strict=False))
