"""The command line. Each command is a file of this room; heavy libraries load inside the commands that need them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from esagent import __version__
from esagent.cli.complete import whole_words
from esagent.cli.errors import tell
from esagent.cli.eval import evaluate
from esagent.cli.export import export
from esagent.cli.ls import ls
from esagent.cli.resume import resume
from esagent.cli.show import show
from esagent.cli.stats import stats
from esagent.cli.sweep import sweep
from esagent.cli.train import train

app = typer.Typer(
    name="esagent",
    help="Post-train tool-using language-model agents with evolution strategies.",
    invoke_without_command=True,
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
app.command()(export)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"esagent {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the installed command: runs it on `arguments` (default: the process's own) and exits."""
    try:
        with whole_words():
            code = app(args=arguments, prog_name="esagent", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context else ""
        tell(f"{error.format_message()}{where}")
        sys.exit(error.exit_code)
    sys.exit(code)
