"""The words that tasks are filled with. No word, name, table, letter or pair of units belongs to two splits."""

from __future__ import annotations

from typing import NamedTuple

from esagent.tasks.base import Split


class UnitPair(NamedTuple):
    """Units as written in a question; `multiple`: values that are multiples of it convert to whole numbers."""

    source: str
    target: str
    multiple: int = 1


_TRAIN = """
pear apple lemon mango grape peach onion carrot bread butter cheese tiger rabbit horse monkey eagle spider
window garden pencil candle hammer basket bottle pillow carpet ladder mirror blanket bucket ticket marble
island forest river meadow desert valley planet comet winter summer morning teacher farmer doctor pilot
dancer singer
"""
_VALIDATION = """
plum cherry potato garlic honey camel parrot salmon jacket button needle hallway kettle lantern
canyon glacier autumn evening painter sailor baker spoon violin pocket saddle
"""
_HELDOUT = """
banana orange melon papaya cabbage pepper biscuit yogurt donkey kitten penguin dolphin beetle lizard
trumpet guitar blouse helmet curtain drawer napkin shovel umbrella suitcase harbor volcano prairie lagoon
thunder rainbow midnight plumber waiter lawyer butcher jeweler
"""

WORDS: dict[Split, tuple[str, ...]] = {
    "train": tuple(_TRAIN.split()),
    "validation": tuple(_VALIDATION.split()),
    "heldout": tuple(_HELDOUT.split()),
}

NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("Ann", "Tom", "Sam", "Mia", "Leo", "Lucy", "Paul", "Nora"),
    "validation": ("Eva", "Ian", "Rosa", "Hugo"),
    "heldout": ("Zoe", "Raj", "Kim", "Ben", "Ola", "Vera"),
}

THINGS: dict[Split, tuple[str, ...]] = {
    "train": ("pens", "coins", "books", "eggs", "balls", "cards", "shirts", "cups"),
    "validation": ("plates", "roses", "keys", "toys"),
    "heldout": ("stamps", "chairs", "cookies", "bricks", "shells", "photos"),
}

TABLES: dict[Split, tuple[str, ...]] = {
    "train": ("prices", "stock", "scores", "ages", "sizes", "votes", "owners"),
    "validation": ("orders", "weights", "ranks"),
    "heldout": ("sales", "points", "levels", "costs", "heights"),
}

LETTERS: dict[Split, str] = {"train": "aintsd", "validation": "ecgk", "heldout": "orlpumbh"}

UNIT_PAIRS: dict[Split, tuple[UnitPair, ...]] = {
    "train": (
        UnitPair("kilometers", "meters"),
        UnitPair("meters", "centimeters"),
        UnitPair("kilograms", "grams"),
        UnitPair("hours", "minutes"),
        UnitPair("days", "hours"),
        UnitPair("feet", "inches"),
        UnitPair("liters", "milliliters"),
        UnitPair("centimeters", "millimeters"),
        UnitPair("minutes", "hours", 60),
        UnitPair("millimeters", "centimeters", 10),
    ),
    "validation": (
        UnitPair("minutes", "seconds"),
        UnitPair("grams", "milligrams"),
        UnitPair("liters", "centiliters"),
        UnitPair("inches", "feet", 12),
    ),
    "heldout": (
        UnitPair("weeks", "days"),
        UnitPair("yards", "feet"),
        UnitPair("tons", "kilograms"),
        UnitPair("pounds", "ounces"),
        UnitPair("meters", "millimeters"),
        UnitPair("gallons", "quarts"),
        UnitPair("hours", "seconds"),
        UnitPair("kilometers", "centimeters"),
        UnitPair("milliliters", "centiliters", 10),
        UnitPair("hours", "days", 24),
    ),
}
"""Ordered pairs; a unit may occur in pairs of several splits."""
