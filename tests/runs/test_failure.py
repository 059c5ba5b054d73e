"""What ended a run stands in its folder; what merely stopped it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.errors import ConfigError, EnvironmentFailure, EsagentError, Interrupted, Preempted, RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.failure import noting_failure
from esagent.runs.status import status

ERRORS = [
    (RunError("broke"), True),
    (EnvironmentFailure("disk full"), True),
    (Interrupted("saved"), False),
    (Preempted("later"), False),
    (ConfigError("x"), False),
]


@pytest.mark.parametrize(("error", "noted"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_failures_are_noted_and_stops_are_not(error: EsagentError, noted: bool, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with pytest.raises(type(error)), noting_failure(run):
        raise error
    assert run.error_log.exists() is noted
    name = f"esagent.errors.{type(error).__name__}"
    assert status(run) == (("failed", f"{name}: {error}") if noted else ("interrupted", ""))


def test_a_failure_that_cannot_be_noted_is_still_raised(tmp_path: Path) -> None:
    (tmp_path / "error.log").mkdir()
    with pytest.raises(RunError, match="broke"), noting_failure(RunDirectory(tmp_path)):
        raise RunError("broke")
