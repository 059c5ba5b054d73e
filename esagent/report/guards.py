"""What guards found, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

_STYLE = {"ok": "green", "note": "yellow", "fault": "bold red", "-": "dim"}


def guards_table(findings: Iterable[Mapping[str, Any]], title: str) -> Table:
    """findings: as `Finding.to_dict` gives them; of a guard that looked at nothing, its name and the level `-`."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("guard")
    table.add_column("")
    table.add_column("figure", justify="right")
    table.add_column("what was found, and what to do", overflow="fold")
    for found in findings:
        level, step = str(found["level"]), found.get("step")
        where = "" if step is None else f"step {step}: "
        said = Text(f"{where}{found.get('cause', '')}")
        if found.get("remedy"):
            said.append(f"\n→ {found['remedy']}", style="dim")
        figure = found.get("figure")
        shown = "" if figure is None else f"{figure:.3g}"
        table.add_row(Text(str(found["guard"])), Text(level, style=_STYLE.get(level, "")), shown, said)
    return table
