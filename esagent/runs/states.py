"""Which of a run's states is meant by `best`, `last` or a number. State n is the agent after n updates."""

from __future__ import annotations

import json

from esagent.errors import ConfigError, RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.metrics import read_rows


def find_state(run: RunDirectory, text: str, updates: int) -> int:
    """The number of the state that `text` names, of a run with `updates` journaled updates.

    best: what a finished run reports; of an unfinished one, the best on validation tasks so far, or the last where
    it has none. Raises ConfigError for a text that names no state, RunError when the one chosen is not there.
    """
    if text == "last":
        return updates
    if text == "best":
        best = _selected(run) if run.summary.exists() else _best_so_far(run, updates)
        if not 0 <= best <= updates:
            raise RunError(f"{run.path}: state {best} was chosen, but the journal holds {updates} updates")
        return best
    if not text.isdecimal():
        raise ConfigError(f"state {text!r}: choose best, last or a number from 0 to {updates}")
    if int(text) > updates:
        raise ConfigError(f"state {text}: the run has states 0 to {updates}")
    return int(text)


def _selected(run: RunDirectory) -> int:
    try:
        return int(json.loads(run.summary.read_text())["selected_step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{run.summary} does not say which state was chosen; name one, or last") from error


def _best_so_far(run: RunDirectory, updates: int) -> int:
    rows = [row for row in read_rows(run.metrics) if row["kind"] == "evaluation" and row.get("split") == "validation"]
    found = [(row["mean"], row["step"]) for row in rows if row.get("mean") is not None and row["step"] <= updates]
    return max(found)[1] if found else updates
