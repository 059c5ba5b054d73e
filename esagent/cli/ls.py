"""`esagent ls`: the runs in a folder, or the families of tasks."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from esagent.cli.complete import complete_listed
from esagent.cli.errors import guarded, tell
from esagent.cli.output import print_json, to_terminal
from esagent.cli.tasks import KEYWORD, list_families
from esagent.cli.train import Json

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="[RUNS_DIR]",
        help="The folder that holds runs; or tasks, for the families of tasks.",
        autocompletion=complete_listed,
    ),
]


def ls(runs_dir: Folder = Path("runs"), as_json: Json = False) -> None:
    """List runs: state, steps, reward of base and trained agent, time, age. Or, by `tasks`, the families of tasks."""
    with guarded():
        from esagent.config.files import is_folder
        from esagent.errors import ConfigError
        from esagent.report.listing import list_rows, table

        if str(runs_dir) == KEYWORD:
            list_families(as_json=as_json)
            return
        if not is_folder(runs_dir):
            near = get_close_matches(str(runs_dir), [KEYWORD])
            advice = f"did you mean {KEYWORD}?" if near else "name the one that holds runs, as in esagent ls runs"
            raise ConfigError(f"{runs_dir}: no such folder; {advice}")
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
