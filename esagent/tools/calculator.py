"""calculator(expression): exact arithmetic by a small recursive-descent parser; nothing is ever evaluated as code.

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | "%") signed)*
    signed  = ("+" | "-") signed | power
    power   = atom ("**" signed)?
    atom    = number | "(" sum ")"

Precedence and the sign of `%` are Python's. Numbers are fractions, so 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.values import bounded, described, number, show, text

MAX_EXPONENT = 64
MAX_DEPTH = 20

_TOKEN = re.compile(r"\s*(\d+(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+|\*\*|[-+*/%()])", re.ASCII)
_SPELLINGS = str.maketrans({"×": "*", "÷": "/", "−": "-", "^": "**", "=": " "})


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its exact value and the numbers it was written with, sorted.

    Two expressions are equal when both agree: 20 * 6 and 6 * 20, but not 120.
    """

    value: Fraction
    numbers: tuple[Fraction, ...]


def parse(value: Any) -> Expression:
    """Parse and compute an expression. Raises ToolError."""
    tokens = _tokens(text(value))
    parser = _Parser(tokens)
    result = parser.sum(0)
    if parser.position < len(tokens):
        raise ToolError(f"unexpected {shorten(tokens[parser.position])}")
    return Expression(result, tuple(sorted(number(t) for t in tokens if t[-1].isdigit())))


def _tokens(expression: str) -> list[str]:
    written = expression.translate(_SPELLINGS).rstrip()
    tokens, at = [], 0
    while at < len(written):
        match = _TOKEN.match(written, at)
        if not match:
            raise ToolError(f"cannot read {shorten(written[at:])}; write numbers with + - * / ** % ( )")
        tokens.append(match[1])
        at = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0

    def sum(self, depth: int) -> Fraction:
        if depth > MAX_DEPTH:
            raise ToolError("nested too deep")
        value = self.product(depth)
        while operator := self.take("+", "-"):
            right = self.product(depth)
            value = bounded(value + right if operator == "+" else value - right)
        return value

    def product(self, depth: int) -> Fraction:
        value = self.signed(depth)
        while operator := self.take("*", "/", "%"):
            right = self.signed(depth)
            if operator == "*":
                value = bounded(value * right)
            elif right == 0:
                raise ToolError("division by zero")
            else:
                value = bounded(value / right if operator == "/" else value % right)
        return value

    def signed(self, depth: int) -> Fraction:
        if depth > MAX_DEPTH:
            raise ToolError("nested too deep")
        if sign := self.take("+", "-"):
            value = self.signed(depth + 1)
            return -value if sign == "-" else value
        return self.power(depth)

    def power(self, depth: int) -> Fraction:
        base = self.atom(depth)
        if not self.take("**"):
            return base
        exponent = self.signed(depth + 1)
        if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
            raise ToolError(f"an exponent is a whole number of at most {MAX_EXPONENT}")
        if base == 0 and exponent < 0:
            raise ToolError("division by zero")
        return bounded(Fraction(base ** int(exponent)))

    def atom(self, depth: int) -> Fraction:
        if self.position == len(self.tokens):
            raise ToolError("the expression ends too early")
        if self.take("("):
            value = self.sum(depth + 1)
            if not self.take(")"):
                raise ToolError("a closing parenthesis is missing")
            return value
        token = self.tokens[self.position]
        if not token[-1].isdigit():
            raise ToolError(f"unexpected {shorten(token)}")
        self.position += 1
        return number(token)

    def take(self, *wanted: str) -> str:
        """The next token when it is one of `wanted`, and step over it; else an empty text."""
        if self.position < len(self.tokens) and self.tokens[self.position] in wanted:
            self.position += 1
            return self.tokens[self.position - 1]
        return ""


CALCULATOR = Tool(
    name="calculator",
    description="Compute an arithmetic expression.",
    parameters={"expression": Parameter(described("string", "numbers with + - * / ** % ( )"), parse)},
    function=lambda expression: show(expression.value),
)
