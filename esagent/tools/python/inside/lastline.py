"""A program whose last line is an expression shows its value, as a REPL does."""

from __future__ import annotations

import ast


def split(code: str) -> tuple[str, str] | None:
    """`code` before its last statement, and that statement's source when it is an expression ("" when it is none).

    None when this Python cannot read the code. Both parts keep the line numbers of `code`: the second starts on the
    line on which the first ends.
    """
    text = code.replace("\r\n", "\n").replace("\r", "\n")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not body or not isinstance(body[-1], ast.Expr):
        return text, ""
    source = text.encode()  # columns of the tree are counted in UTF-8 bytes
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    last = body[-1]
    begin = starts[last.lineno - 1] + last.col_offset
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or 0)
    return source[:begin].decode(), source[begin:end].decode()
