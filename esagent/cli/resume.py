"""`esagent resume`: go on with a run that was interrupted."""

from __future__ import annotations

from typing import Annotated

import typer

from esagent.cli.complete import complete_run
from esagent.cli.environment import prepare
from esagent.cli.errors import guarded
from esagent.cli.output import only_data, show_summary
from esagent.cli.train import Json

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="Folder of the run, name/run-id, a run id, or latest.", autocompletion=complete_run
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[OVERRIDES]", help="Single settings for --fork, as in budget.steps=32."),
]
Fork = Annotated[
    bool, typer.Option("--fork", help="Go on with changed settings as a new run; this one stays as it is.")
]


def resume(
    run: Run,
    overrides: Changes = None,
    fork: Fork = False,
    as_json: Json = False,
) -> None:
    """Go on with an interrupted run."""
    with guarded():
        prepare()
        from esagent.runs.find import find_run

        directory = find_run(run)
        if fork:
            from esagent.fork import fork as go_on
        else:
            from esagent.train import resume as go_on

        with only_data():
            summary = go_on(directory.path, overrides=overrides or [], json_mode=as_json)
        show_summary(summary, as_json=as_json)
