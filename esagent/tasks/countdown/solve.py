"""Solutions by search: every way to combine two of the numbers left, until one is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

_Part = tuple[Fraction, str]


def solve(numbers: Sequence[int], wanted: Callable[[Fraction], bool]) -> str | None:
    """An expression that uses each of `numbers` exactly once and whose value is wanted; None when there is none.

    Complete, and exponential: 4 numbers are up to 9,216 expressions, 5 about 1.5 million, 6 too many.
    """
    return _search(tuple((Fraction(number), str(number)) for number in numbers), wanted)


def most_expressions(count: int) -> int:
    """How many expressions of `count` numbers there are: n! (n - 1)! 3^(n - 1), - and / taken both ways."""
    return math.factorial(count) * math.factorial(count - 1) * 3 ** (count - 1)


def _search(parts: tuple[_Part, ...], wanted: Callable[[Fraction], bool]) -> str | None:
    if len(parts) == 1:
        return parts[0][1] if wanted(parts[0][0]) else None
    for i in range(len(parts)):
        for j in range(i + 1, len(parts)):
            rest = parts[:i] + parts[i + 1 : j] + parts[j + 1 :]
            for made in _combined(parts[i], parts[j]):
                if found := _search((*rest, made), wanted):
                    return found
    return None


def _combined(a: _Part, b: _Part) -> Iterator[_Part]:
    yield a[0] + b[0], f"({a[1]} + {b[1]})"
    yield a[0] * b[0], f"({a[1]} * {b[1]})"
    for one, other in ((a, b), (b, a)):
        yield one[0] - other[0], f"({one[1]} - {other[1]})"
        if other[0]:
            yield one[0] / other[0], f"({one[1]} / {other[1]})"
