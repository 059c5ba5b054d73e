"""Countdown puzzles: drawn so that they can be solved, or read from JSONL files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from esagent.config.files import user_path
from esagent.core.noise import key, permutation, uniform
from esagent.errors import ConfigError
from esagent.tasks.base import Split
from esagent.tasks.countdown.expression import parse
from esagent.tasks.countdown.solve import most_expressions, solve
from esagent.tasks.division import check_shares, divide, place
from esagent.tasks.jsonl import named_split
from esagent.tasks.lines import field, read_lines

_log = logging.getLogger(__name__)

_FILES: tuple[tuple[str, Split], ...] = (("train", "train"), ("validation", "validation"), ("test", "heldout"))
_ROUNDED = Fraction(1, 10**9)
_MOST_SEARCHED = 100_000
_OPERATORS = "+-*/"


@dataclass(frozen=True)
class Puzzle:
    """numbers, in the order shown; the target as it is shown, and exactly; one solution."""

    numbers: tuple[int, ...]
    shown: str
    target: Fraction
    solution: str
    place: str


def owner(numbers: Sequence[int], shares: Sequence[float]) -> Split:
    """The split that all puzzles over these numbers belong to, in whatever order they are shown."""
    return place(_name(numbers), shares)


def draw(
    seed: int, sizes: Sequence[int], highest: int, targets: tuple[int, int], fits: Callable[[Sequence[int]], bool]
) -> Puzzle | None:
    """A puzzle under a key: numbers from 1 to `highest`, combined at random until one is left, which is the target.

    None when the numbers do not fit, or that is no whole number in `targets`.
    """
    chances = iter(uniform(key("countdown", seed), 32).tolist())

    def pick(count: int) -> int:
        return int(next(chances) * count)

    size = sizes[pick(len(sizes))]
    numbers = tuple(1 + pick(highest) for _ in range(size))
    if not fits(numbers):
        return None
    parts = [(Fraction(number), str(number)) for number in numbers]
    while len(parts) > 1:
        (a, left), (b, right) = parts.pop(pick(len(parts))), parts.pop(pick(len(parts)))
        operator = _OPERATORS[pick(len(_OPERATORS))]
        if operator == "/" and b == 0:
            return None
        value = {"+": a + b, "-": a - b, "*": a * b}.get(operator)
        parts.append((a / b if value is None else value, f"({left} {operator} {right})"))
    target, solution = parts[0]
    if target.denominator != 1 or not targets[0] <= target <= targets[1]:
        return None
    order = permutation(key("countdown order", seed), size)
    return Puzzle(tuple(numbers[at] for at in order), str(target), target, solution[1:-1], "")


def load(path: str, shares: Sequence[float]) -> dict[Split, list[Puzzle]]:
    """The puzzles of a JSONL file, or of a folder with train.jsonl and test.jsonl, by split.

    A row has `numbers`, `target` and, or not, `solution` and `split`. Puzzles over the same numbers stay in one split
    (see division.py). A target with a long fraction is a rounded one: it stands for the exact value that rounds to it.
    Puzzles without any solution are left out, and counted in the log. Raises ConfigError, naming bad rows by line.
    """
    check_shares(shares)
    where = user_path(path)
    files: list[tuple[Path, Split | None]] = [(where, None)]
    if where.is_dir():
        files = [(file, split) for name, split in _FILES if (file := where / f"{name}.jsonl").is_file()]
        if not files:
            raise ConfigError(f"task.path: {where} holds no {', '.join(f'{name}.jsonl' for name, _ in _FILES)}")
    rows: list[tuple[Puzzle, Split | None]] = []
    asked: set[tuple[tuple[int, ...], Fraction]] = set()
    unsolved = 0
    for file, split in files:
        for _, found in read_lines(file, _reader(file.stem, split)):
            if found is None:
                unsolved += 1
            elif (same := (tuple(sorted(found[0].numbers)), found[0].target)) not in asked:
                asked.add(same)
                rows.append(found)
    if unsolved:
        _log.warning("%s: %d puzzles have no solution and are left out", where, unsolved)
    names = [_name(puzzle.numbers) for puzzle, _ in rows]
    out: dict[Split, list[Puzzle]] = {"train": [], "validation": [], "heldout": []}
    for (puzzle, _), owned in zip(rows, divide(names, names, [split for _, split in rows], shares), strict=True):
        if owned is not None:
            out[owned].append(puzzle)
    return out


def _name(numbers: Sequence[int]) -> str:
    return "countdown " + " ".join(map(str, sorted(numbers)))


def _reader(stem: str, split: Split | None) -> Callable[[int, Mapping[str, Any]], tuple[Puzzle, Split | None] | None]:
    def row(line: int, given: Mapping[str, Any]) -> tuple[Puzzle, Split | None] | None:
        numbers = given.get("numbers", given.get("nums"))
        if not isinstance(numbers, list) or len(numbers) < 2 or any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError(f"'numbers' must be a list of at least two whole numbers, not {str(numbers)[:40]}")
        shown = field(given, "target")
        puzzle = _solved(tuple(numbers), shown, given.get("solution"), f"{stem}:{line}")
        return (puzzle, split or named_split(given.get("split"))) if puzzle else None

    return row


def _solved(numbers: tuple[int, ...], shown: str, stated: object, place: str) -> Puzzle | None:
    """The puzzle with a solution, the stated one where it is right; None when there is none."""
    try:
        target = Fraction(Decimal(shown))
    except (InvalidOperation, ValueError, OverflowError):
        raise ValueError(f"the target {shown[:40]!r} is not a number") from None
    long = len(shown.partition(".")[2]) > 6

    def wanted(value: Fraction) -> bool:
        return value == target or (long and abs(value - target) < _ROUNDED)

    found = parse(stated) if isinstance(stated, str) else None
    if found and found.value is not None and sorted(found.numbers) == sorted(numbers) and wanted(found.value):
        return Puzzle(numbers, shown, found.value, str(stated), place)
    if most_expressions(len(numbers)) > _MOST_SEARCHED:
        raise ValueError(f"the solution of {len(numbers)} numbers is missing or wrong; too many to search for one")
    solution = solve(numbers, wanted)
    again = parse(solution) if solution else None
    return (
        Puzzle(numbers, shown, again.value, solution, place) if again and again.value is not None and solution else None
    )
