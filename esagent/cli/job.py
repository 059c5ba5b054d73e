"""A command of esagent as a sweep starts it: like any other, but it stops at a step boundary when its sweep is gone.

python -m esagent.cli.job train seed=1
"""

from __future__ import annotations

import os
import signal

from esagent.cli.main import main as command
from esagent.sweep.lifeline import when_input_ends


def main() -> None:
    """Run the command; the end of standard input is a SIGTERM to it."""
    when_input_ends(lambda: os.kill(os.getpid(), signal.SIGTERM))
    command()


if __name__ == "__main__":
    main()
