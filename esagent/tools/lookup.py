"""lookup(table, key): one cell of a named table. The tables belong to the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.tools.base import Parameter, Tool, ToolError, shorten
from esagent.tools.values import described, text

Tables = Mapping[str, Mapping[str, str]]
"""Table name -> key -> value, all lower-case names and keys."""


def make_lookup(tables: Tables) -> Tool:
    """The tool over the tables of one task. Names and keys are found in any case."""

    def name(value: Any) -> str:
        return text(value).casefold()

    def find(table: str, key: str) -> str:
        if table not in tables:
            raise ToolError(f"no table {shorten(table)}; there is {', '.join(tables) or 'none'}")
        if key not in tables[table]:
            raise ToolError(f"table {table} has no key {shorten(key)}")
        return tables[table][key]

    return Tool(
        name="lookup",
        description="Look up a key in a table.",
        parameters={
            "table": Parameter(described("string", "name of the table"), name),
            "key": Parameter(described("string", "key of the row"), name),
        },
        function=find,
    )
