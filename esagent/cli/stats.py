"""`esagent stats`: is one arm of a study better than another, beyond the luck of seeds?"""

from __future__ import annotations

from typing import Annotated

import typer

from esagent.cli.complete import choices, complete_study
from esagent.cli.errors import guarded
from esagent.cli.output import print_json
from esagent.cli.train import Json


def stats(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS",
            help="Run directories, folders of them, names under runs/, or run ids.",
            autocompletion=complete_study,
        ),
    ],
    baseline: Annotated[
        str | None, typer.Option(metavar="ARM", help="The arm to compare the others with, or a part of its label.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="auc, final (both on the pool) or heldout.", autocompletion=choices("auc", "final", "heldout")
        ),
    ] = "auc",
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Tell arms apart by this setting alone; may be given again."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Compare the arms of a study over paired seeds: exact sign-flip test, interval, smallest possible p."""
    with guarded():
        from esagent.report.stats import print_report, report_json
        from esagent.stats.compare import compare
        from esagent.stats.results import find_results

        report = compare(find_results(runs), metric=metric, baseline=baseline, by=by or [], confidence=confidence)
        if as_json:
            print_json(report_json(report))
        else:
            print_report(report)
