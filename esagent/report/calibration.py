"""What sigma=auto chose and why, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from esagent.report.text import duration, number


def calibration_table(kept: Mapping[str, Any]) -> Table:
    """kept: the content of calibration.json, or its row in metrics.jsonl.

    The sigma of every block at a schedule value of 1, with the share of completions that it changes and what its
    members earn, where blocks were measured by themselves; a row of its own for a factor on all of them.
    """
    title = f"Sigma by calibration: {kept['target']:.0%} of greedy completions shall change"
    caption = (
        f"mean reward of the centre there {number(kept['base_reward'])}; {kept['episodes']} episodes and "
        f"{duration(kept['seconds'])}, counted apart"
    )
    table = Table(title=Text(title), title_justify="left", caption=Text(caption, style="dim"), caption_justify="left")
    table.add_column("block")
    for heading in ("sigma", "changed", "reward"):
        table.add_column(heading, justify="right")
    table.add_column("why", overflow="fold")
    for name, *numbers, why in calibration_rows(kept):
        table.add_row(Text(name), *numbers, Text(why))
    return table


def calibration_rows(kept: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """(block, sigma, share changed, reward, why) of the table, as text."""
    found = {choice["name"]: choice for choice in kept["found"]}
    rows = [(block, f"{sigma:.3g}", *_measured(found.pop(block, {}))) for block, sigma in kept["sigma"].items()]
    return rows + [(name, f"x {choice['sigma']:.3g}", *_measured(choice)) for name, choice in found.items()]


def _measured(choice: Mapping[str, Any]) -> tuple[str, str, str]:
    changed = choice.get("changed")
    return "-" if changed is None else f"{changed:.0%}", number(choice.get("reward")), str(choice.get("why", ""))
