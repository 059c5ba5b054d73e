"""`esagent ls`: the runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esagent.cli.errors import guarded, tell
from esagent.cli.output import print_json, to_terminal
from esagent.cli.train import Json

Folder = Annotated[Path, typer.Argument(metavar="[RUNS_DIR]", help="The folder that holds runs.")]


def ls(runs_dir: Folder = Path("runs"), as_json: Json = False) -> None:
    """List runs: state, steps, reward of base and trained agent, time, age."""
    with guarded():
        from esagent.config.files import is_folder
        from esagent.errors import ConfigError
        from esagent.report.listing import list_rows, table

        if not is_folder(runs_dir):
            raise ConfigError(f"{runs_dir}: no such folder; name the one that holds runs, as in esagent ls runs")
        rows = list_rows(runs_dir)
        if as_json:
            print_json({"runs_dir": str(runs_dir), "runs": rows})
            return
        if not rows:
            tell(f"{runs_dir} holds no runs")
            return
        to_terminal(table(rows))
        for row in rows:
            for problem in row["problems"]:
                tell(f"{row['run']}: {problem}")
