"""The command line. Each command is a file of this room; heavy libraries load inside the commands that need them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from esagent import __version__
from esagent.cli.complete import whole_words
from esagent.cli.doctor import doctor
from esagent.cli.errors import guarded, tell
from esagent.cli.eval import evaluate
from esagent.cli.export import export
from esagent.cli.ls import ls
from esagent.cli.resume import resume
from esagent.cli.show import show
from esagent.cli.stats import stats
from esagent.cli.sweep import sweep
from esagent.cli.train import train
from esagent.errors import EnvironmentFailure

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
app.command()(doctor)


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


def _open_streams() -> None:
    """A standard stream that the caller closed (`2>&-`) leads nowhere, so that no file of a run gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal has no sign for is shown by another
            stream.reconfigure(errors="replace")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the installed command: runs it on `arguments` (default: the process's own) and exits."""
    _open_streams()
    try:
        with guarded():  # commands guard themselves; this is for what is around them, the text of --help for one
            _require_folder()
            code = _run(arguments)
    except typer.Exit as ended:
        code = ended.exit_code
    sys.exit(code)


def _require_folder() -> None:
    try:
        os.getcwd()
    except OSError as error:
        raise EnvironmentFailure("the current folder does not exist any more; change to one that does") from error


def _run(arguments: Sequence[str] | None) -> int:
    """The exit code of a command; mistakes in its usage are told in one line."""
    try:
        with whole_words():
            return app(args=arguments, prog_name="esagent", standalone_mode=False) or 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context else ""
        tell(f"{error.format_message()}{where}")
        return error.exit_code
