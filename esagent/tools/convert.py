"""convert(value, from, to): unit conversion with the definitions of the pint library, in exact fractions.

Only the units listed here are accepted, so that no text of a model reaches pint's own expression parser.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.values import bounded, described, number, show, text

UNITS: dict[str, tuple[str, ...]] = {
    "millimeter": ("mm",),
    "centimeter": ("cm",),
    "meter": ("m",),
    "kilometer": ("km",),
    "inch": ("in", "inches"),
    "foot": ("ft", "feet"),
    "yard": ("yd",),
    "mile": ("mi",),
    "milligram": ("mg",),
    "gram": ("g",),
    "kilogram": ("kg", "kilo", "kilos"),
    "metric_ton": ("t", "ton", "tons", "tonne", "tonnes", "metric ton", "metric tons"),
    "ounce": ("oz",),
    "pound": ("lb", "lbs"),
    "milliliter": ("ml", "millilitre", "millilitres"),
    "centiliter": ("cl", "centilitre", "centilitres"),
    "liter": ("l", "litre", "litres"),
    "pint": ("pt",),
    "quart": ("qt",),
    "gallon": ("gal",),
    "second": ("s", "sec", "secs"),
    "minute": ("min", "mins"),
    "hour": ("h", "hr", "hrs"),
    "day": ("d",),
    "week": ("wk",),
    "degree_Celsius": ("c", "celsius", "degrees celsius", "°c"),
    "degree_Fahrenheit": ("f", "fahrenheit", "degrees fahrenheit", "°f"),
    "kelvin": ("k",),
}
"""Name in pint -> other spellings; every name also has its plural in s. British spellings of metre are added below."""


@functools.cache
def _spellings() -> dict[str, str]:
    table = {}
    for name, others in UNITS.items():
        for spelling in (name.casefold(), name.casefold() + "s", *others):
            table[spelling] = name
            if spelling.endswith(("meter", "meters")):
                table[spelling.replace("meter", "metre")] = name
    return table


@functools.cache
def _registry() -> Any:
    """Pint's registry with its default definitions; built once, as parsing them takes a third of a second."""
    import pint

    return pint.UnitRegistry(non_int_type=Fraction)


def unit(value: Any) -> str:
    """The pint name of a unit, from any spelling in the table. Raises ToolError."""
    name = _spellings().get(text(value).casefold().rstrip("."))
    if name is None:
        raise ToolError(f"unknown unit {shorten(value)}")
    return name


def _convert(value: Fraction, source: str, target: str) -> str:
    registry = _registry()
    if registry.Unit(source).dimensionality != registry.Unit(target).dimensionality:
        raise ToolError(f"cannot convert {source} to {target}")
    return show(bounded(Fraction(registry.Quantity(value, source).to(target).magnitude)))


CONVERT = Tool(
    name="convert",
    description="Convert a value from one unit to another.",
    parameters={
        "value": Parameter(described("number", "how many"), number),
        "from": Parameter(described("string", "unit of the value, such as km"), unit),
        "to": Parameter(described("string", "unit wanted, such as m"), unit),
    },
    function=_convert,
)
