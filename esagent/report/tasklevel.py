"""Arms compared over the tasks of each seed: a table that says on what level it speaks, and plain data."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.report.stats import interval_text
from esagent.report.text import number
from esagent.stats.within import TaskReport


def print_tasks(found: TaskReport, stream: TextIO | None = None) -> None:
    """One row per arm and seed; rows are not pooled."""
    console = folding_console(stream or sys.stdout)
    title = f"{found.metric}, task level: difference to {found.baseline} over tasks, each seed by itself"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("arm", overflow="fold")
    for heading in ("seed", "tasks", "difference", f"{100 * found.confidence:g}% interval", "p", "p better", "p worse"):
        table.add_column(heading, justify="right")
    for row in found.comparisons:
        p_values = (row.test.p_two_sided, row.test.p_greater, row.test.p_less)
        cells = (
            row.arm,
            str(row.seed),
            str(row.n),
            number(row.interval.gain, signed=True),
            interval_text(row.interval.low, row.interval.high),
            *(f"{p:.3g}" for p in p_values),
        )
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(
        Text(
            "Unit: task, within one training seed. This is about other tasks for these trained agents; about training "
            "speaks the level of seeds alone, with n = number of seeds. Rows are never pooled."
        )
    )
    for row in found.comparisons:
        if row.left_out:
            console.print(Text(f"note: {row.arm}, seed {row.seed}: {row.left_out} tasks scored for one agent alone"))


def tasks_json(found: TaskReport) -> dict[str, Any]:
    """Plain data."""
    return {
        "level": "tasks within a training seed",
        "metric": found.metric,
        "baseline": found.baseline,
        "confidence": found.confidence,
        "comparisons": [
            {
                "arm": row.arm,
                "seed": row.seed,
                "n": row.n,
                "left_out": row.left_out,
                "difference": row.interval.gain,
                "interval": [row.interval.low, row.interval.high],
                "p_two_sided": row.test.p_two_sided,
                "p_greater": row.test.p_greater,
                "p_less": row.test.p_less,
                "draws": row.test.draws,
            }
            for row in found.comparisons
        ],
    }
