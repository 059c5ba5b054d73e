"""Which run a user means: a path, `name/run-id`, a run id, or `latest`."""

from __future__ import annotations

import difflib
from pathlib import Path

from esagent.config.files import is_file, user_path
from esagent.errors import ConfigError
from esagent.runs.directory import RunDirectory, open_run


def list_runs(runs_dir: str | Path) -> list[RunDirectory]:
    """Every run under `runs_dir`, oldest first (by run id, which begins with the UTC time)."""
    found = [RunDirectory(config.parent) for config in user_path(runs_dir).glob("*/*/config.yaml")]
    return sorted(found, key=lambda run: (run.id, run.name))


def find_run(text: str, runs_dir: str | Path = "runs") -> RunDirectory:
    """The run that `text` names. Raises ConfigError with the nearest existing run when there is none or several."""
    if any(is_file(user_path(text) / name) for name in ("config.yaml", "manifest.json")):
        return open_run(user_path(text))
    runs = list_runs(runs_dir)
    if not runs:
        raise ConfigError(f"run {text!r} does not exist: {runs_dir} holds no runs yet")
    if text == "latest":
        return runs[-1]
    matching = [run for run in runs if text in (run.id, f"{run.name}/{run.id}")]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(f"{run.name}/{run.id}" for run in matching)
        raise ConfigError(f"run {text!r} could be any of {names}; name one of them in full")
    known = [f"{run.name}/{run.id}" for run in runs]
    nearest = difflib.get_close_matches(text, known + [run.id for run in runs], n=1, cutoff=0.0)[0]
    raise ConfigError(f"run {text!r} does not exist in {runs_dir}; the nearest is {nearest}")
