"""The launcher of a sweep in a process of its own: `python -m esagent.cli.launch FOLDER`, with the folder's plan."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import typer

from esagent.cli.errors import guarded
from esagent.sweep.folder import SweepFolder
from esagent.sweep.lifeline import when_input_ends


def main() -> None:
    """Launch every job of the plan; the end of standard input asks all of them to stop."""
    folder = SweepFolder(Path(sys.argv[1]))
    when_input_ends(lambda: folder.request_stop(signal.SIGTERM))
    try:
        with guarded():
            from esagent.cli.bridge import launch

            launch(folder)
    except typer.Exit as ended:
        sys.exit(ended.exit_code)


if __name__ == "__main__":
    main()
