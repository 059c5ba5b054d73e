"""Seeded choices, and the partition of all values (numbers, dates) into splits."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import TypeVar

from esagent.core.noise import key, permutation, uniform
from esagent.tasks.base import Split
from esagent.tasks.toolbox.words import LETTERS, NAMES, TABLES, THINGS, UNIT_PAIRS, WORDS, UnitPair

T = TypeVar("T")

_BLOCK = 64
_TRAIN, _VALIDATION = 5, 7
"""Of any ten numbers with the same tens, 5 belong to train, 2 to validation and 3 to held-out."""

FIRST_YEAR, LAST_YEAR = 1990, 2049


def split_of(value: int) -> Split:
    """The split that owns a whole number >= 0. A year belongs to the split of its number, with all of its dates."""
    tens, digit = divmod(value, 10)
    rank = _ranks(tens)[digit]
    return "train" if rank < _TRAIN else "validation" if rank < _VALIDATION else "heldout"


@functools.cache
def _ranks(tens: int) -> tuple[int, ...]:
    return tuple(permutation(key("toolbox", "numbers", tens), 10))


@functools.cache
def owned(split: Split, low: int, high: int) -> tuple[int, ...]:
    """The whole numbers of a split in [low, high], in order."""
    return tuple(value for value in range(low, high + 1) if split_of(value) == split)


class Draw:
    """A stream of choices from one key, all of them from the values of one split."""

    def __init__(self, seed: int, split: Split) -> None:
        self.split: Split = split
        self._seed = seed
        self._used = 0
        self._block: Sequence[float] = ()

    def unit(self) -> float:
        """The next number in [0, 1)."""
        at = self._used % _BLOCK
        if at == 0:
            self._block = uniform(key("draw", self._seed, self._used), _BLOCK).tolist()
        self._used += 1
        return self._block[at]

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, all equally likely."""
        return options[int(self.unit() * len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different ones of `options`."""
        left = list(options)
        return [left.pop(int(self.unit() * len(left))) for _ in range(count)]

    def number(self, low: int, high: int) -> int:
        """A whole number of the split in [low, high]."""
        return self.pick(owned(self.split, low, high))

    def numbers(self, low: int, high: int, count: int) -> list[int]:
        """Different whole numbers of the split in [low, high]."""
        return self.sample(owned(self.split, low, high), count)

    def date(self, days: int = 365) -> datetime.date:
        """A day in one of the years of the split, among the first `days` of that year."""
        start = datetime.date(self.number(FIRST_YEAR, LAST_YEAR), 1, 1)
        return start + datetime.timedelta(days=int(self.unit() * days))

    def later(self, start: datetime.date, most: int) -> datetime.date:
        """A day 2 to `most` days after `start`, moved to 31 December where that would leave the year."""
        days = 2 + int(self.unit() * (most - 1))
        return min(start + datetime.timedelta(days=days), datetime.date(start.year, 12, 31))

    def words(self, count: int) -> list[str]:
        """Different words, also the keys of tables."""
        return self.sample(WORDS[self.split], count)

    def table(self) -> str:
        return self.pick(TABLES[self.split])

    def unit_pair(self) -> UnitPair:
        return self.pick(UNIT_PAIRS[self.split])

    def letter(self, word: str) -> str | None:
        """A letter of the split that occurs in `word`, None when there is none."""
        found = [letter for letter in LETTERS[self.split] if letter in word]
        return self.pick(found) if found else None

    def name(self) -> str:
        return self.pick(NAMES[self.split])

    def thing(self) -> str:
        return self.pick(THINGS[self.split])
