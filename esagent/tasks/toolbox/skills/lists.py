"""Lists of numbers: largest, smallest, sum, sorted order."""

from __future__ import annotations

from collections.abc import Callable

from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start, Wordings


def _use(operation: str) -> Callable[[Draw, Level], Drawn]:
    def draw_list(draw: Draw, level: Level) -> Drawn:
        numbers = draw.numbers(2, level.high, 3 + int(draw.unit() * (level.items - 2)))
        return Drawn({"operation": operation, "items": numbers}, {"items": ", ".join(str(n) for n in numbers)})

    return draw_list


def _use_it(operation: str) -> Callable[[Draw, Level, str, str], Drawn | None]:
    def draw_list(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
        a, b = draw.numbers(2, level.high, 2)
        return Drawn({"operation": operation, "items": [marker, a, b]}, {"a": a, "b": b})

    return draw_list


def _extreme(operation: str, adjective: str, other: str, far: str) -> Start:
    questions: Wordings = {
        "train": (
            f"What is the {adjective} number in the list {{items}}?",
            f"Find the {adjective} number in the list {{items}}.",
            f"Which number is the {adjective} of the list {{items}}?",
            f"Give the {operation} of the list {{items}}.",
            f"Please find the {adjective} number of the list {{items}}.",
            f"I need the {adjective} number in the list {{items}}.",
            f"Of the numbers in the list {{items}}, which one is the {adjective}?",
            f"Look for the {adjective} number in the list {{items}}.",
        ),
        "validation": (
            f"Pick the {other} number from the list {{items}}.",
            f"In the list {{items}}, which number is the {other}?",
        ),
        "heldout": (
            f"Which number in the list {{items}} is the {far}?",
            f"Tell me the {far} number in the list {{items}}.",
            f"Name the {far} number of the list {{items}}.",
        ),
    }
    clauses: Wordings = {
        "train": (f"take the {adjective} number in the list {{items}}",),
        "validation": (f"pick the {other} number from the list {{items}}",),
        "heldout": (f"go through the list {{items}} for the {far} number",),
    }
    return Start(f"list.{operation}", "list", "number", _use(operation), questions, clauses)


def _extreme_of_it(operation: str, adjective: str, other: str, far: str) -> Follow:
    clauses: Wordings = {
        "train": (f"take the {adjective} number in the list of it, {{a}} and {{b}}",),
        "validation": (f"pick the {other} number from the list of that, {{a}}, {{b}}",),
        "heldout": (f"list it with {{a}} and {{b}} and name the {far} number",),
    }
    return Follow(f"list.{operation}_of_it", "list", "number", "number", _use_it(operation), clauses)


STARTS = (
    _extreme("max", "largest", "biggest", "highest"),
    _extreme("min", "smallest", "least", "lowest"),
    Start(
        "list.sum",
        "list",
        "number",
        _use("sum"),
        questions={
            "train": (
                "What is the sum of the list {items}?",
                "Sum the list {items}.",
                "Find the sum of all numbers in the list {items}.",
                "Add up the list {items}.",
                "Please sum the list {items}.",
                "I need the sum of the list {items}.",
                "How much do the numbers of the list {items} make together?",
                "Add all numbers of the list {items}.",
            ),
            "validation": ("Give the sum over the list {items}.", "What do the numbers of the list {items} sum to?"),
            "heldout": (
                "What do the numbers in the list {items} sum up to?",
                "Tell me the sum of the list {items}.",
                "Total the list {items}.",
            ),
        },
        clauses={
            "train": ("sum the list {items}",),
            "validation": ("form the sum over the list {items}",),
            "heldout": ("total the whole list {items}",),
        },
    ),
    Start(
        "list.sort",
        "list",
        "final",
        _use("sort"),
        questions={
            "train": (
                "Sort the list {items}.",
                "Put the list {items} in order.",
                "Sort the list {items} from small to large.",
                "What is the sorted list of {items}?",
                "Please sort the list {items}.",
                "I need the list {items} sorted.",
                "Bring the list {items} into order.",
                "How does the list {items} look when it is sorted?",
            ),
            "validation": ("Give the list {items} in sorted order.", "Order the list {items}, smallest first."),
            "heldout": (
                "Show the list {items} in sorted order.",
                "Arrange the list {items} from low to high.",
                "Return the list {items} sorted.",
            ),
        },
        clauses={
            "train": ("sort the list {items}",),
            "validation": ("order the list {items}",),
            "heldout": ("arrange the list {items} upwards",),
        },
    ),
)

FOLLOWS = (
    _extreme_of_it("max", "largest", "biggest", "highest"),
    _extreme_of_it("min", "smallest", "least", "lowest"),
)
