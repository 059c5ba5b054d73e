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
from esagent.stats.equivalence import Equivalence

_MEANING = {
    "auc": "area under the pool curve of the unperturbed agent, divided by the budget",
    "final": "mean reward of the unperturbed agent on the pool after the last step",
    "heldout": "mean reward of the chosen state on held-out tasks",
}


def print_report(report: Report, stream: TextIO | None = None, *, per_seed: bool = False) -> None:
    """The arms, their differences to the baseline with interval and p-values, and how small p could have been.

    per_seed: also the metric of every run, arms by seeds.
    """
    console = folding_console(stream or sys.stdout)
    console.print(_arms(report))
    if per_seed:
        console.print(_by_seed(report))
    console.print(_differences(report))
    if report.margin is not None:
        console.print(_margins(report, report.margin))
    for line in _lines(report):
        console.print(Text(line))


def report_json(report: Report) -> dict[str, Any]:
    """Plain data; limits of an interval that rules nothing out are infinite."""
    return {
        "level": "training seeds",
        "metric": report.metric,
        "baseline": report.baseline,
        "confidence": report.confidence,
        "margin": report.margin,
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
                "bounds": list(comparison.bounds),
                "p_two_sided": comparison.test.p_two_sided,
                "p_holm": comparison.p_holm,
                "p_greater": comparison.test.p_greater,
                "p_less": comparison.test.p_less,
                "smallest_p_two_sided": comparison.test.smallest_two_sided,
                "smallest_p_one_sided": comparison.test.smallest_one_sided,
                "draws": comparison.test.draws,
                "t": {
                    "p_two_sided": comparison.student.p_two_sided,
                    "p_greater": comparison.student.p_greater,
                    "p_less": comparison.student.p_less,
                },
                "equivalence": comparison.equivalence and _equivalence(comparison.equivalence),
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
    several = len(report.comparisons) > 1
    headings = ["difference", f"{100 * report.confidence:g}% interval", "p", *["p (Holm)"] * several]
    for heading in (*headings, "p better", "p worse"):
        table.add_column(heading, justify="right")
    for comparison in report.comparisons:
        test, (low, high) = comparison.test, comparison.interval
        p_values = (test.p_two_sided, *[comparison.p_holm] * several, test.p_greater, test.p_less)
        cells = (
            comparison.arm,
            number(test.mean, signed=True),
            interval_text(low, high),
            *(f"{p:.3g}" for p in p_values),
        )
        table.add_row(*map(Text, cells))
    return table


def interval_text(low: float, high: float) -> str:
    """`[-0.010, +0.020]`, or that it rules nothing out."""
    return f"[{number(low, signed=True)}, {number(high, signed=True)}]" if math.isfinite(low) else "rules nothing out"


def _by_seed(report: Report) -> Table:
    table = Table(title=Text(f"{report.metric} of every run, by training seed"), title_justify="left")
    table.add_column("seed", justify="right")
    for arm in report.arms:
        table.add_column(Text(arm.label), justify="right", overflow="fold")
    for seed in report.seeds:
        table.add_row(str(seed), *(number(arm.measures[seed].value) for arm in report.arms))
    return table


def _margins(report: Report, margin: float) -> Table:
    """Two one-sided tests at the margin, and the bound that "no better by" hangs on."""
    alpha = 1.0 - report.confidence
    title = f"Within {margin:g} of {report.baseline}, two one-sided tests at {alpha:.3g}"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("arm", overflow="fold")
    for heading in ("upper bound", f"no better by {margin:g}", "p (exact)", "p (t)", "equivalent"):
        table.add_column(heading, justify="right")
    for comparison in report.comparisons:
        if comparison.equivalence is not None:
            upper, tests = comparison.bounds.high, comparison.equivalence
            bound = number(upper, signed=True) if math.isfinite(upper) else "none"
            shown = ("shown" if upper < margin else "not shown", "shown" if tests.exact.equivalent else "not shown")
            p_values = (f"{tests.exact.p:.3g}", f"{tests.t.p:.3g}")
            table.add_row(*map(Text, (comparison.arm, bound, shown[0], *p_values, shown[1])))
    return table


def _equivalence(tests: Equivalence) -> dict[str, Any]:
    return {
        "margin": tests.margin,
        "alpha": tests.alpha,
        **{
            name: {"p": t.p, "p_below": t.p_below, "p_above": t.p_above, "interval": list(t.interval),
                   "equivalent": t.equivalent}
            for name, t in (("exact", tests.exact), ("t", tests.t))
        },
    }  # fmt: skip


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
