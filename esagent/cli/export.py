"""`esagent export`: a state of a run as files that other programs load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esagent.cli.environment import prepare
from esagent.cli.errors import guarded
from esagent.cli.output import print_json
from esagent.cli.resume import Run
from esagent.cli.train import Json
from esagent.config.names import EXPORT_FORMATS

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="peft|hf|hooks",
        autocompletion=lambda: list(EXPORT_FORMATS),
        help="peft: a LoRA folder per module. hf: a whole model, for agents of one module. hooks: a small program that "
        "adds what was trained to a stock model. Default: peft where it can say what was trained, else hooks.",
    ),
]
State = Annotated[
    str,
    typer.Option(
        "--state", metavar="best|last|STEP", help="Which state of the run.", autocompletion=lambda: ["best", "last"]
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", metavar="DIR", help="A new folder; default: RUN/exports/<format>-<step>.")
]


def export(
    run: Run, format: Format = None, state: State = "best", output: Output = None, as_json: Json = False
) -> None:
    """Write a trained agent in a form that other programs load."""
    with guarded():
        prepare()
        from esagent.runs.find import find_run

        directory = find_run(run)
        from esagent.runs.export.export import export as write  # loads torch

        done = write(directory, format, state, output)
        if as_json:
            print_json(done)
        else:
            typer.echo(
                f"{done['output']}: state {done['state']} as {done['format']}; its README.md shows how to load it"
            )
