"""Word problems with one integer answer: what the own generator fills in.

No sentence and no formula belongs to two splits. The formula is what a solver would hand to Python; `value` is the same
in our own code, and a test holds the two together. Names, things and numbers are drawn from the split's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from esagent.tasks.base import Split

Range = tuple[int, int]


@dataclass(frozen=True)
class Template:
    """text: with slots {a} to {d} for numbers, {name} and {things}. ranges: of the numbers, in order.

    formula: Python over the same slots. fits: which numbers make sense together.
    """

    name: str
    text: str
    ranges: tuple[Range, ...]
    formula: str
    value: Callable[..., int]
    fits: Callable[..., bool] = lambda *numbers: True


_TRAIN = (
    Template(
        "bags",
        "{name} buys {a} bags with {b} {things} in each. How many {things} are that?",
        ((3, 40), (3, 60)),
        "{a} * {b}",
        lambda a, b: a * b,
    ),
    Template(
        "gets more",
        "{name} has {c} {things} and gets {a} boxes with {b} more in each. How many {things} does {name} have then?",
        ((2, 30), (3, 40), (5, 99)),
        "{a} * {b} + {c}",
        lambda a, b, c: a * b + c,
    ),
    Template(
        "days",
        "Every day {name} sells {a} {things} in the morning and {b} in the afternoon. How many is that in {c} days?",
        ((3, 60), (3, 60), (2, 20)),
        "({a} + {b}) * {c}",
        lambda a, b, c: (a + b) * c,
    ),
    Template(
        "takes away",
        "There were {a} {things}. {name} took {b} of them and lost another {c}. How many are left?",
        ((60, 300), (5, 60), (5, 60)),
        "{a} - {b} - {c}",
        lambda a, b, c: a - b - c,
        lambda a, b, c: a > b + c,
    ),
    Template(
        "breaks",
        "{name} carries {a} trays of {b} {things} and drops {c}. How many {things} are still whole?",
        ((3, 20), (5, 40), (2, 15)),
        "{a} * {b} - {c}",
        lambda a, b, c: a * b - c,
    ),
    Template(
        "left over",
        "{a} {things} are put into bags of {b} until no bag can be filled any more. How many {things} are left over?",
        ((40, 400), (6, 30)),
        "{a} % {b}",
        lambda a, b: a % b,
    ),
    Template(
        "full boxes",
        "{name} has {a} {things} and puts {b} into each box. How many boxes get full?",
        ((40, 400), (6, 30)),
        "{a} // {b}",
        lambda a, b: a // b,
    ),
    Template(
        "range",
        "What is the sum of all whole numbers from {a} to {b}, both included?",
        ((2, 40), (45, 120)),
        "sum(range({a}, {b} + 1))",
        lambda a, b: (a + b) * (b - a + 1) // 2,
    ),
    Template(
        "square plus",
        "What is the square of {a}, plus {b}?",
        ((6, 60), (5, 99)),
        "{a} ** 2 + {b}",
        lambda a, b: a * a + b,
    ),
    Template(
        "spread",
        "By how much is the largest of the numbers {a}, {b} and {c} larger than the smallest?",
        ((10, 300), (10, 300), (10, 300)),
        "max({a}, {b}, {c}) - min({a}, {b}, {c})",
        lambda a, b, c: max(a, b, c) - min(a, b, c),
        lambda a, b, c: len({a, b, c}) == 3,
    ),
    Template(
        "fence",
        "A field is {a} meters long and {b} meters wide. How many meters of fence go all the way around it?",
        ((12, 150), (8, 90)),
        "2 * ({a} + {b})",
        lambda a, b: 2 * (a + b),
    ),
    Template(
        "card",
        "A ticket costs {a} coins, and {b} coins less with a card. How many coins are {c} tickets with a card?",
        ((15, 90), (2, 14), (3, 25)),
        "({a} - {b}) * {c}",
        lambda a, b, c: (a - b) * c,
    ),
)

_VALIDATION = (
    Template(
        "layers",
        "A crate holds {a} layers of {b} rows with {c} {things} each. How many {things} are in it?",
        ((3, 30), (4, 40), (4, 50)),
        "{a} * {b} * {c}",
        lambda a, b, c: a * b * c,
    ),
    Template(
        "bus",
        "{a} people sit in a bus. {b} get on, then {c} get off. How many sit in it now?",
        ((20, 90), (5, 50), (3, 19)),
        "{a} + {b} - {c}",
        lambda a, b, c: a + b - c,
    ),
    Template(
        "cube minus",
        "Subtract {b} from the third power of {a}. What do you get?",
        ((5, 40), (5, 99)),
        "{a} ** 3 - {b}",
        lambda a, b: a**3 - b,
    ),
    Template(
        "digits",
        "Multiply {a} by {b} and add up the digits of the product. What is the result?",
        ((12, 99), (12, 99)),
        "sum([int(digit) for digit in str({a} * {b})])",
        lambda a, b: sum(int(digit) for digit in str(a * b)),
    ),
    Template(
        "two readers",
        "{name} reads {a} pages a day, a friend reads {b}. How many pages more has {name} read after {c} days?",
        ((30, 90), (8, 29), (3, 50)),
        "{a} * {c} - {b} * {c}",
        lambda a, b, c: a * c - b * c,
    ),
)

_HELDOUT = (
    Template(
        "two kinds",
        "A hall has {a} rows of {b} seats and {c} rows of {d} seats. How many seats does it have?",
        ((3, 20), (5, 30), (3, 20), (5, 30)),
        "{a} * {b} + {c} * {d}",
        lambda a, b, c, d: a * b + c * d,
    ),
    Template(
        "trips",
        "{name} can carry {b} {things} at a time. How many trips does it take to move {a} {things}?",
        ((40, 400), (5, 28)),
        "-(-{a} // {b})",
        lambda a, b: -(-a // b),
    ),
    Template(
        "change",
        "{name} pays for {a} {things} at {b} coins apiece with {c} coins. How many coins come back?",
        ((3, 20), (3, 20), (410, 600)),
        "{c} - {a} * {b}",
        lambda a, b, c: c - a * b,
    ),
    Template(
        "remainder",
        "Divide the product of {a} and {b} by {c}. What is the remainder?",
        ((12, 99), (12, 99), (7, 40)),
        "({a} * {b}) % {c}",
        lambda a, b, c: a * b % c,
    ),
    Template(
        "multiples",
        "How many of the whole numbers from {a} to {b} are divisible by {c}?",
        ((10, 60), (90, 300), (3, 12)),
        "len([n for n in range({a}, {b} + 1) if n % {c} == 0])",
        lambda a, b, c: b // c - (a - 1) // c,
    ),
    Template(
        "divisors",
        "How many positive divisors does {a} have, 1 and {a} included?",
        ((24, 900),),
        "len([n for n in range(1, {a} + 1) if {a} % n == 0])",
        lambda a: sum(a % n == 0 for n in range(1, a + 1)),
    ),
    Template(
        "two squares",
        "Add the squares of {a} and {b}. What is the total?",
        ((6, 60), (6, 60)),
        "{a} ** 2 + {b} ** 2",
        lambda a, b: a * a + b * b,
    ),
    Template(
        "clock",
        "A film of {a} hours and {b} minutes is shown {c} times. How many minutes is that altogether?",
        ((2, 9), (5, 59), (2, 20)),
        "({a} * 60 + {b}) * {c}",
        lambda a, b, c: (a * 60 + b) * c,
    ),
)

TEMPLATES: Mapping[Split, tuple[Template, ...]] = {
    "train": _TRAIN,
    "validation": _VALIDATION,
    "heldout": _HELDOUT,
}
