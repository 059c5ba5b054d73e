"""Arithmetic expressions as countdown allows them: whole numbers with + - * / and parentheses, computed exactly.

Python's own grammar reads the text and a walk over the tree computes it in fractions; nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

LONGEST = 200
"""Longest expression, in characters."""

_SIGNS = re.compile(r"[0-9+\-*/() ]+", re.ASCII)
_SPELLINGS = str.maketrans({"×": "*", "÷": "/", "−": "-"})
_BINARY: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Expression:
    """value: None where it divides by zero. numbers: those it is written with, in order."""

    value: Fraction | None
    numbers: tuple[int, ...]


def parse(text: str) -> Expression | None:
    """The expression that `text` is, None when it is none."""
    written = text.translate(_SPELLINGS).strip()
    if len(written) > LONGEST or not _SIGNS.fullmatch(written):
        return None
    try:
        tree = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    nodes = list(ast.walk(tree))
    if not all(isinstance(node, _KINDS) for node in nodes):
        return None
    numbers = [node for node in nodes if isinstance(node, ast.Constant)]
    ordered = sorted(numbers, key=lambda node: (node.lineno, node.col_offset))
    try:
        value: Fraction | None = _value(tree)
    except ZeroDivisionError:
        value = None
    return Expression(value, tuple(int(str(node.value)) for node in ordered))


_KINDS = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.UAdd, ast.USub, *_BINARY)


def _value(node: ast.AST) -> Fraction:
    if isinstance(node, ast.Constant):
        return Fraction(int(str(node.value)))
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    assert isinstance(node, ast.BinOp)
    return _BINARY[type(node.op)](_value(node.left), _value(node.right))
