"""The outcome of `esagent stats`: tables for people, one object for machines."""

from __future__ import annotations

import math
import sys
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.report.text import number
from esagent.stats.compare import Report

_MEANING = {
    "auc": "area under the pool curve of the unperturbed agent, divided by the budget",
    "final": "mean reward of the unperturbed agent on the pool after the last step",
    "heldout": "mean reward of the chosen state on held-out tasks",
}


def print_report(report: Report, stream: TextIO | None = None) -> None:
    """The arms, their differences to the baseline with interval and p-values, and how small p could have been."""
    console = folding_console(stream or sys.stdout)
    console.print(_arms(report))
    console.print(_differences(report))
    for line in _lines(report):
        console.print(Text(line))


def report_json(report: Report) -> dict[str, Any]:
    """Plain data; limits of an interval that rules nothing out are infinite."""
    return {
        "metric": report.metric,
        "baseline": report.baseline,
        "confidence": report.confidence,
        "seeds": list(report.seeds),
        "budget": report.budget and {"amount": report.budget[0], "unit": report.budget[1]},
        "arms": [
            {
                "arm": arm.label,
                "mean": arm.mean,
                "sd": arm.deviation,
                "gain": arm.gain,
                "runs": [
                    {"seed": seed, "value": m.value, "base": m.base, "gain": m.gain, "run": str(arm.runs[seed])}
                    for seed, m in arm.measures.items()
                ],
            }
            for arm in report.arms
        ],
        "comparisons": [
            {
                "arm": comparison.arm,
                "n": comparison.test.n,
                "difference": comparison.test.mean,
                "interval": list(comparison.interval),
                "p_two_sided": comparison.test.p_two_sided,
                "p_greater": comparison.test.p_greater,
                "p_less": comparison.test.p_less,
                "smallest_p_two_sided": comparison.test.smallest_two_sided,
                "smallest_p_one_sided": comparison.test.smallest_one_sided,
                "draws": comparison.test.draws,
                "differences": [{"seed": seed, "difference": d} for seed, d in comparison.differences.items()],
            }
            for comparison in report.comparisons
        ],
        "notes": list(report.notes),
    }


def _arms(report: Report) -> Table:
    table = Table(title=Text(f"{report.metric}: {_MEANING[report.metric]}"), title_justify="left")
    table.add_column("arm", overflow="fold")
    for heading in ("mean", "sd", "gain"):
        table.add_column(heading, justify="right")
    for arm in report.arms:
        cells = (arm.label, number(arm.mean), number(arm.deviation), number(arm.gain, signed=True))
        table.add_row(*map(Text, cells))
    return table


def _differences(report: Report) -> Table:
    table = Table(title=Text(f"Difference to {report.baseline}"), title_justify="left")
    table.add_column("arm", overflow="fold")
    for heading in ("difference", f"{100 * report.confidence:g}% interval", "p", "p better", "p worse"):
        table.add_column(heading, justify="right")
    for comparison in report.comparisons:
        test, (low, high) = comparison.test, comparison.interval
        interval = f"[{number(low, signed=True)}, {number(high, signed=True)}]"
        cells = (
            comparison.arm,
            number(test.mean, signed=True),
            interval if math.isfinite(low) else "rules nothing out",
            *(f"{p:.3g}" for p in (test.p_two_sided, test.p_greater, test.p_less)),
        )
        table.add_row(*map(Text, cells))
    return table


def _lines(report: Report) -> list[str]:
    test = report.comparisons[0].test
    how = f"signs drawn {test.draws:,} times" if test.draws else "exact"
    lines = [
        f"Sign-flip test over {test.n} paired seed{'s' * (test.n > 1)} ({how}), interval by its inversion. Smallest p "
        f"that so many can give: {test.smallest_two_sided:.3g}, one-sided {test.smallest_one_sided:.3g}."
    ]
    if report.budget is not None:
        amount, unit = report.budget
        lines.append(f"Area over the first {amount:,.12g} training {unit} of each run.")
    return [*lines, *(f"note: {note}" for note in report.notes)]
