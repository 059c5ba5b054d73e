"""The closing table of a sweep: one row per arm and seed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.report.text import duration, number
from esagent.sweep.jobs import Outcome


def print_outcomes(outcomes: Sequence[Outcome], stream: TextIO | None = None) -> None:
    """A table on stderr; the name of an arm stands at its first row."""
    table = Table()
    table.add_column("arm", overflow="fold")
    for heading in ("seed", "pool gain", "held-out gain", "time"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for arm in dict.fromkeys(outcome.job.arm for outcome in outcomes):
        rows = [outcome for outcome in outcomes if outcome.job.arm == arm]
        for place, row in enumerate(rows):
            gains = (number(row.gain(split), signed=True) for split in ("pool", "heldout"))
            cells = (arm if place == 0 else "", str(row.job.config.seed), *gains, duration(row.seconds), row.state)
            table.add_row(*map(Text, cells))
    folding_console(stream or sys.stderr).print(table)
