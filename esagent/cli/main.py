"""The command line. Each command is a file of this room; heavy libraries load inside the commands that need them."""

from __future__ import annotations

from typing import Annotated

import typer

from esagent import __version__
from esagent.cli.eval import evaluate
from esagent.cli.ls import ls
from esagent.cli.resume import resume
from esagent.cli.show import show
from esagent.cli.stats import stats
from esagent.cli.sweep import sweep
from esagent.cli.train import train

app = typer.Typer(
    name="esagent",
    help="Post-train tool-using language-model agents with evolution strategies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(train)
app.command()(resume)
app.command("eval")(evaluate)
app.command()(show)
app.command()(ls)
app.command()(stats)
app.command()(sweep)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"esagent {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the installed command."""
    app(prog_name="esagent")
