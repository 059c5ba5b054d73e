"""Unit conversion. Values are chosen so that results are whole numbers; only a chain may give a fraction."""

from __future__ import annotations

from esagent.tasks.toolbox.draw import Draw, owned
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start


def _convert(draw: Draw, level: Level) -> Drawn:
    pair = draw.unit_pair()
    most = max(level.high, 20 * pair.multiple)
    value = draw.pick([n for n in owned(draw.split, 2, most) if n % pair.multiple == 0])
    slots = {"value": value, "source": pair.source, "target": pair.target}
    return Drawn({"value": value, "from": pair.source, "to": pair.target}, slots, carriers=(pair.target,))


def _convert_it(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
    pair = draw.unit_pair()
    if "." in result or int(result) % pair.multiple:
        return None
    slots = {"source": pair.source, "target": pair.target}
    return Drawn({"value": marker, "from": pair.source, "to": pair.target}, slots, carriers=(pair.target,))


STARTS = (
    Start(
        "convert.units",
        "convert",
        "number",
        _convert,
        questions={
            "train": (
                "Convert {value} {source} to {target}.",
                "How many {target} are {value} {source}?",
                "Change {value} {source} into {target}.",
                "What is {value} {source} in {target}?",
                "How many {target} are there in {value} {source}?",
                "Please convert {value} {source} into {target}.",
                "I have {value} {source}. How many {target} is that?",
                "How many {target} make up {value} {source}?",
                "I need {value} {source} in {target}.",
            ),
            "validation": (
                "Give {value} {source} as {target}.",
                "Turn {value} {source} into {target}.",
                "{value} {source} is how many {target}?",
            ),
            "heldout": (
                "Write {value} {source} in {target}.",
                "How much is {value} {source}, measured in {target}?",
                "Express {value} {source} in {target}.",
                "Which number of {target} is {value} {source}?",
            ),
        },
        clauses={
            "train": ("convert {value} {source} to {target}", "change {value} {source} into {target}"),
            "validation": ("turn {value} {source} into {target}",),
            "heldout": ("express {value} {source} in {target}", "write {value} {source} as {target}"),
        },
    ),
)

FOLLOWS = (
    Follow(
        "convert.it",
        "convert",
        "number",
        "number",
        _convert_it,
        clauses={
            "train": ("convert it from {source} to {target}",),
            "validation": ("turn that many {source} into {target}",),
            "heldout": ("express that many {source} in {target}", "read it as {source} and write it in {target}"),
        },
    ),
)
