"""Table lookup. Tables belong to the environment: a question names the table and the key."""

from __future__ import annotations

from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start, Wordings
from esagent.tasks.toolbox.words import TABLES


def _number(draw: Draw, level: Level) -> Drawn:
    keys = draw.words(level.rows)
    values = draw.numbers(2, level.high, level.rows)
    return _drawn(draw, keys, [str(value) for value in values])


def _word(draw: Draw, level: Level) -> Drawn:
    words = draw.words(2 * level.rows)
    return _drawn(draw, words[: level.rows], words[level.rows :])


def _drawn(draw: Draw, keys: list[str], values: list[str]) -> Drawn:
    table, key = draw.table(), draw.pick(keys)
    rows = dict(zip(keys, values, strict=True))
    return Drawn({"table": table, "key": key}, {"table": table, "key": key}, {table: rows})


def _look_that_up(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
    """A table that holds the result among its keys. Its name is not yet in use: see `build`, which refuses a clash."""
    others = [word for word in draw.words(level.rows) if word != result][: level.rows - 1]
    keys = draw.sample([result, *others], level.rows)
    values = draw.numbers(2, level.high, level.rows)
    table = draw.pick(TABLES[draw.split])
    rows = dict(zip(keys, (str(value) for value in values), strict=True))
    return Drawn({"table": table, "key": marker}, {"table": table}, {table: rows})


_QUESTIONS: Wordings = {
    "train": (
        "Look up {key} in the table {table}.",
        "What does the table {table} say for {key}?",
        "What is the value of {key} in the table {table}?",
        "Find {key} in the table {table}.",
        "Which entry does the table {table} have for {key}?",
        "Please look up {key} in the table {table}.",
        "I need the value of {key} from the table {table}.",
        "In the table {table}, what is written next to {key}?",
        "The table {table} has a row for {key}. What does it say?",
    ),
    "validation": (
        "Give the entry of {key} from the table {table}.",
        "Read the row {key} of the table {table}.",
    ),
    "heldout": (
        "What stands in the table {table} for {key}?",
        "Show what belongs to {key} in the table {table}.",
        "Search the table {table} for {key}.",
        "Tell me what the table {table} holds for {key}.",
    ),
}

_CLAUSES: Wordings = {
    "train": ("look up {key} in the table {table}", "find {key} in the table {table}"),
    "validation": ("read the row {key} of the table {table}",),
    "heldout": ("search the table {table} for {key}", "check what the table {table} holds for {key}"),
}

STARTS = (
    Start("lookup.number", "lookup", "number", _number, _QUESTIONS, _CLAUSES),
    Start("lookup.word", "lookup", "word", _word, _QUESTIONS, _CLAUSES),
)

FOLLOWS = (
    Follow(
        "lookup.that",
        "lookup",
        "word",
        "number",
        _look_that_up,
        clauses={
            "train": ("look that up in the table {table}",),
            "validation": ("read the row of that word in the table {table}",),
            "heldout": ("search the table {table} for that word",),
        },
    ),
)
