"""How paired differences respond to a setting: tables for people, one object for machines."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.report.stats import interval_text
from esagent.report.text import number
from esagent.stats.over import Response


def print_response(found: Response, stream: TextIO | None = None) -> None:
    """Every arm's difference to the baseline at every value, and the line through them."""
    console = folding_console(stream or sys.stdout)
    console.print(_points(found))
    console.print(_slopes(found))
    console.print(
        Text(
            f"Unit: training seed, n = {len(found.seeds)}. Differences and slopes by exact sign flips over seeds; R^2 "
            "and the interval over values by least squares through the means."
        )
    )


def response_json(found: Response) -> dict[str, Any]:
    """Plain data; limits of an interval that rules nothing out are infinite."""
    return {
        "level": "training seeds",
        "metric": found.metric,
        "baseline": found.baseline,
        "over": found.over,
        "confidence": found.confidence,
        "seeds": list(found.seeds),
        "curves": [
            {
                "arm": arm,
                "points": [
                    {
                        "x": point.x,
                        "n": point.n,
                        "difference": point.mean,
                        "interval": list(point.interval),
                        "p_two_sided": point.test.p_two_sided,
                    }
                    for point in curve.points
                ],
                "slope": curve.slopes
                and {
                    "mean": curve.slopes.test.mean,
                    "interval": list(curve.slopes.interval),
                    "p_two_sided": curve.slopes.test.p_two_sided,
                    "r_squared": curve.slopes.fit.r_squared,
                    "intercept": curve.slopes.fit.intercept,
                    "interval_over_values": list(curve.slopes.fit.interval),
                },
            }
            for arm, curve in found.curves.items()
        ],
    }


def _points(found: Response) -> Table:
    table = Table(title=Text(f"{found.metric}: difference to {found.baseline}"), title_justify="left")
    table.add_column("arm", overflow="fold")
    for heading in (found.over, "difference", f"{100 * found.confidence:g}% interval", "p"):
        table.add_column(Text(heading), justify="right")
    for arm, curve in found.curves.items():
        for point in curve.points:
            interval = interval_text(*point.interval)
            cells = (arm, f"{point.x:g}", number(point.mean, signed=True), interval, f"{point.test.p_two_sided:.3g}")
            table.add_row(*map(Text, cells))
    return table


def _slopes(found: Response) -> Table:
    table = Table(title=Text(f"Change of the difference per unit of {found.over}"), title_justify="left")
    table.add_column("arm", overflow="fold")
    share = f"{100 * found.confidence:g}% interval"
    for heading in ("slope", f"{share} over seeds", "p", f"{share} over values", "R^2"):
        table.add_column(heading, justify="right")
    for arm, curve in found.curves.items():
        slopes = curve.slopes
        if slopes is not None:
            intervals = interval_text(*slopes.interval), interval_text(*slopes.fit.interval)
            mean, p = number(slopes.test.mean, signed=True), f"{slopes.test.p_two_sided:.3g}"
            cells = (arm, mean, intervals[0], p, intervals[1], number(slopes.fit.r_squared))
            table.add_row(*map(Text, cells))
    return table
