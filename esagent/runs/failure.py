"""error.log: what ended a run that had begun to work, for people and for `esagent ls`."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

from esagent.errors import EnvironmentFailure, EsagentError, RunError
from esagent.runs.directory import RunDirectory


@contextlib.contextmanager
def noting_failure(run: RunDirectory) -> Iterator[None]:
    """Within: an error that is told in one line and ends the run (RunError, EnvironmentFailure) is kept in error.log.

    A signal that stops the run is none. Where the disk does not take the note, the error is told all the same. Bugs are
    kept by the command line, which tells where.
    """
    try:
        yield
    except EsagentError as error:
        if isinstance(error, RunError | EnvironmentFailure):
            with contextlib.suppress(OSError):
                run.error_log.write_text("".join(traceback.format_exception(error)))
        raise
