"""What n seeds can show, before a run: a table and plain data."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.stats.planning import Plan
from esagent.stats.power import DRAWS, pairs_needed


def print_power(plan: Plan, stream: TextIO | None = None) -> None:
    """A row per number of seeds: the smallest p, whether Holm's strictest step can be met, and the power."""
    console = folding_console(stream or sys.stdout)
    level = plan.alpha / plan.family
    title = f"What n paired seeds can show at alpha {plan.alpha:g}, family of {plan.family}: p <= {level:.3g}"
    table = Table(title=Text(title), title_justify="left")
    claims = [found.claim for found in plan.rows[0][1]]
    headings = ["n", "smallest p", "enough", "smallest one-sided p", "enough"]
    for heading in (*headings, *(f"power: {claim.replace('_', ' ')}" for claim in claims)):
        table.add_column(heading, justify="right")
    for least, powers in plan.rows:
        cells = [
            str(least.n),
            f"{least.two_sided:.3g}",
            "yes" if least.can_show_difference else "no",
            f"{least.one_sided:.3g}",
            "yes" if least.can_show_direction else "no",
            *(f"{found.t:.3f} (t)" if found.exact is None else f"{found.exact:.3f}" for found in powers),
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
    fewest = pairs_needed(plan.alpha, plan.family), pairs_needed(plan.alpha, plan.family, two_sided=False)
    console.print(Text(f"At least {fewest[0]} seeds for a two-sided difference, {fewest[1]} for a one-sided claim."))
    if claims:
        margin = f", margin {plan.margin:g}" if plan.margin is not None else ""
        console.print(
            Text(
                f"Power for a true mean difference of {plan.effect or 0:g} whose standard deviation over seeds is "
                f"{plan.sd:g}{margin}: exact sign-flip test, {DRAWS:,} samples drawn; (t): Student's t instead."
            )
        )


def power_json(plan: Plan) -> dict[str, Any]:
    """Plain data."""
    return {
        "alpha": plan.alpha,
        "family": plan.family,
        "level": plan.alpha / plan.family,
        "effect": plan.effect,
        "sd": plan.sd,
        "margin": plan.margin,
        "seeds_needed": {
            "two_sided": pairs_needed(plan.alpha, plan.family),
            "one_sided": pairs_needed(plan.alpha, plan.family, two_sided=False),
        },
        "rows": [
            {
                "n": least.n,
                "smallest_p_two_sided": least.two_sided,
                "smallest_p_one_sided": least.one_sided,
                "power": {found.claim: {"exact": found.exact, "t": found.t} for found in powers},
            }
            for least, powers in plan.rows
        ],
    }
