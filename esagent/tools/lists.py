"""list(operation, items): one fact about a list. No operation depends on the order in which the items are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from esagent.tools.base import Parameter, Tool, ToolError
from esagent.tools.values import bounded, choice, items, show

OPERATIONS = ("max", "min", "sum", "sort", "count")

_REDUCE: dict[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "max": max,
    "min": min,
    "sum": lambda v: sum(v, Fraction(0)),
}


def _use(operation: str, values: Sequence[Fraction] | Sequence[str]) -> str:
    if operation == "count":
        return str(len(values))
    numbers = [value for value in values if isinstance(value, Fraction)]
    if operation == "sort":
        return ", ".join(show(v) if isinstance(v, Fraction) else v for v in values)
    if len(numbers) < len(values):
        raise ToolError(f"{operation} needs a list of numbers")
    return show(bounded(_REDUCE[operation](numbers)))


LIST = Tool(
    name="list",
    description="Find the max, min, sum, count or sorted order of a list.",
    parameters={
        "operation": choice(OPERATIONS),
        "items": Parameter({"type": "array", "description": "numbers or single words", "items": {}}, items),
    },
    function=_use,
)
