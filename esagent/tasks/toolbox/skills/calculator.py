"""Arithmetic: sums, differences, products, quotients, remainders."""

from __future__ import annotations

from collections.abc import Callable

from esagent.tasks.toolbox.draw import Draw, owned
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start
from esagent.tools.values import number


def _drawn(draw: Draw, expression: str, **numbers: int) -> Drawn:
    thing = draw.thing()
    slots = {**numbers, "name": draw.name(), "things": thing}
    return Drawn({"expression": expression.format(**numbers)}, slots, carriers=(thing,))


def _add(draw: Draw, level: Level) -> Drawn:
    a, b = draw.numbers(2, level.high, 2)
    return _drawn(draw, "{a} + {b}", a=a, b=b)


def _subtract(draw: Draw, level: Level) -> Drawn:
    b, a = sorted(draw.numbers(2, level.high, 2))
    return _drawn(draw, "{a} - {b}", a=a, b=b)


def _multiply(draw: Draw, level: Level) -> Drawn:
    return _drawn(draw, "{a} * {b}", a=draw.number(2, level.high), b=draw.number(2, 19))


def _divide(draw: Draw, level: Level) -> Drawn:
    divisors = [b for b in owned(draw.split, 2, 19) if any(a % b == 0 for a in owned(draw.split, 2 * b, level.high))]
    b = draw.pick(divisors)
    a = draw.pick([a for a in owned(draw.split, 2 * b, level.high) if a % b == 0])
    return _drawn(draw, "{a} / {b}", a=a, b=b)


def _remainder(draw: Draw, level: Level) -> Drawn:
    return _drawn(draw, "{a} % {b}", a=draw.number(20, level.high), b=draw.number(3, 19))


def _follow(operator: str, high: int | None = None) -> Callable[[Draw, Level, str, str], Drawn | None]:
    def draw_follow(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
        n = draw.number(2, high or level.high)
        if operator == "-" and number(result) <= n:
            return None
        return Drawn({"expression": f"{marker} {operator} {n}"}, {"n": n})

    return draw_follow


STARTS = (
    Start(
        "calculator.add",
        "calculator",
        "number",
        _add,
        questions={
            "train": (
                "What is {a} plus {b}?",
                "Add {a} and {b}.",
                "How much is {a} + {b}?",
                "{name} has {a} {things} and buys {b} more. How many {things} does {name} have?",
                "There are {a} {things} here and {b} {things} there. How many {things} are there together?",
                "Please add {a} to {b}.",
                "I need {a} and {b} added up.",
                "What do {a} and {b} make together?",
                "{name} picks {a} {things} and then {b} more. How many {things} has {name} picked?",
            ),
            "validation": (
                "Give the total of {a} and {b}.",
                "{name} got {a} {things} on Monday and {b} on Friday. How many are that?",
            ),
            "heldout": (
                "Calculate {a} plus {b}.",
                "A box holds {a} {things} and {name} puts {b} more into it. How many {things} does it hold?",
                "Which number do you get from {a} plus {b}?",
                "Compute the total of {a} and {b}.",
            ),
        },
        clauses={
            "train": ("add {a} and {b}", "take {a} plus {b}"),
            "validation": ("total {a} and {b}",),
            "heldout": ("put {a} and {b} together", "calculate {a} plus {b}"),
        },
    ),
    Start(
        "calculator.subtract",
        "calculator",
        "number",
        _subtract,
        questions={
            "train": (
                "What is {a} minus {b}?",
                "Subtract {b} from {a}.",
                "How much is {a} - {b}?",
                "{name} has {a} {things} and gives {b} away. How many {things} are left?",
                "{name} had {a} {things} and lost {b}. How many {things} does {name} still have?",
                "Please subtract {b} from {a}.",
                "I need {a} minus {b}.",
                "What is the difference of {a} and {b}?",
                "{name} wants {a} {things} and has {b}. How many {things} are missing?",
            ),
            "validation": (
                "Take {b} off {a}. What is left?",
                "Of {a} {things}, {name} sells {b}. How many {things} stay?",
            ),
            "heldout": (
                "Calculate {a} less {b}.",
                "A shop has {a} {things} and sells {b} of them. How many {things} remain?",
                "Which number do you get from {a} minus {b}?",
                "Compute {a} less {b}.",
            ),
        },
        clauses={
            "train": ("subtract {b} from {a}", "take {a} minus {b}"),
            "validation": ("take {b} off {a}",),
            "heldout": ("lower {a} by {b}", "calculate {a} less {b}"),
        },
    ),
    Start(
        "calculator.multiply",
        "calculator",
        "number",
        _multiply,
        questions={
            "train": (
                "What is {a} times {b}?",
                "Multiply {a} by {b}.",
                "How much is {a} * {b}?",
                "{name} buys {b} bags with {a} {things} in each. How many {things} are that?",
                "There are {b} rows of {a} {things}. How many {things} are there?",
                "Please multiply {a} and {b}.",
                "I need {a} times {b}.",
                "What do you get for {a} multiplied by {b}?",
                "{name} makes {a} {things} every day. How many {things} are that after {b} days?",
            ),
            "validation": (
                "Give the product of {a} and {b}.",
                "{name} packs {a} {things} a day for {b} days. How many {things} in all?",
            ),
            "heldout": (
                "Calculate {a} times {b}.",
                "Each of {b} boxes holds {a} {things}. How many {things} do the boxes hold?",
                "Which number do you get from {a} times {b}?",
                "Compute the product of {a} and {b}.",
            ),
        },
        clauses={
            "train": ("multiply {a} by {b}", "take {a} times {b}"),
            "validation": ("form the product of {a} and {b}",),
            "heldout": ("calculate {a} times {b}", "take the number {a} {b} times"),
        },
    ),
    Start(
        "calculator.divide",
        "calculator",
        "number",
        _divide,
        questions={
            "train": (
                "What is {a} divided by {b}?",
                "Divide {a} by {b}.",
                "How much is {a} / {b}?",
                "{name} shares {a} {things} among {b} friends. How many {things} does each friend get?",
                "{a} {things} go into {b} equal bags. How many {things} are in each bag?",
                "Please divide {a} by {b}.",
                "I need {a} divided by {b}.",
                "How often does {b} go into {a}?",
                "{name} sorts {a} {things} into {b} equal piles. How many {things} are in a pile?",
            ),
            "validation": (
                "Split {a} into {b} equal parts. How big is one part?",
                "{b} children share {a} {things}. How many {things} for each child?",
            ),
            "heldout": (
                "Calculate {a} divided by {b}.",
                "{name} puts {a} {things} evenly on {b} tables. How many {things} are on one table?",
                "Which number do you get from {a} divided by {b}?",
                "Compute {a} over {b}.",
            ),
        },
        clauses={
            "train": ("divide {a} by {b}", "take {a} divided by {b}"),
            "validation": ("split {a} into {b} equal parts",),
            "heldout": ("calculate {a} divided by {b}", "share {a} equally among {b}"),
        },
    ),
    Start(
        "calculator.remainder",
        "calculator",
        "number",
        _remainder,
        questions={
            "train": (
                "What is the remainder of {a} divided by {b}?",
                "What is {a} modulo {b}?",
                "{name} puts {a} {things} into bags of {b}. How many {things} are left over?",
            ),
            "validation": ("What remains when {a} is divided by {b}?",),
            "heldout": (
                "Calculate {a} modulo {b} for me, please.",
                "{name} packs {a} {things} in boxes of {b}. How many {things} do not fill a box?",
            ),
        },
        clauses={
            "train": ("take the remainder of {a} divided by {b}",),
            "validation": ("find what remains when {a} is divided by {b}",),
            "heldout": ("calculate {a} modulo {b}",),
        },
    ),
)

FOLLOWS = (
    Follow(
        "calculator.add_to",
        "calculator",
        "number",
        "number",
        _follow("+"),
        clauses={
            "train": ("add {n} to it", "add {n}"),
            "validation": ("make it {n} bigger",),
            "heldout": ("increase it by {n}", "put {n} on top"),
        },
    ),
    Follow(
        "calculator.subtract_from",
        "calculator",
        "number",
        "number",
        _follow("-"),
        clauses={
            "train": ("subtract {n} from it", "subtract {n}"),
            "validation": ("make it {n} smaller",),
            "heldout": ("decrease it by {n}", "take {n} away from it"),
        },
    ),
    Follow(
        "calculator.multiply_by",
        "calculator",
        "number",
        "number",
        _follow("*", 19),
        clauses={
            "train": ("multiply it by {n}", "multiply by {n}"),
            "validation": ("take it {n} times",),
            "heldout": ("make it {n} times as big", "calculate {n} times that"),
        },
    ),
)
