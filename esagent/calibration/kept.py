"""calibration.json: what a run found before its first step, written down once and never found again.

It is sealed for the run and written before the first record of the journal, so that a run that goes on, replays or is
looked at has the very numbers that it began with. Its row in metrics.jsonl follows from it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from esagent.assemble import Parts
from esagent.calibration.calibrate import calibrate
from esagent.config.schema import Config
from esagent.errors import RunError
from esagent.report.calibration import calibration_table
from esagent.report.console import Progress
from esagent.runs.atomic import reporting, write_json
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import Identity
from esagent.runs.metrics import append_row
from esagent.runs.seal import is_sound, sealed

_log = logging.getLogger(__name__)


def calibrated(
    run: RunDirectory, config: Config, parts: Parts, start: Identity, records: int, progress: Progress
) -> Parts:
    """`parts` with the sigma of this run: as configured, or with sigma=auto as found before its first step.

    records: of the journal. Without any, the backend is in its first state, and what is not there yet is found and
    written down. Raises RunError when it is missing or damaged beside records, and as `calibrate` does.
    """
    if not config.sigma.auto:
        return parts
    kept = _required(run, start) if records else read_calibration(run, start)
    if kept is None:
        if run.calibration.exists():
            _log.warning("%s is damaged; sigma is found again, no step depends on it yet", run.calibration)
        progress.phase("calibrating sigma")
        kept = sealed(calibrate(parts, config), start.seal)
        append_row(run.metrics, _row(kept))
        write_json(run.calibration, kept)  # last: with it the calibration counts as done
        progress.show(calibration_table(kept))
    return replace(parts, scales=replace(parts.scales, factors=kept["sigma"]))


def read_calibration(run: RunDirectory, start: Identity) -> dict[str, Any] | None:
    """The content of calibration.json; None where it is missing or not what this run wrote."""
    with reporting("read", run.calibration):
        text = run.calibration.read_bytes() if run.calibration.exists() else b"null"
    try:
        kept: dict[str, Any] | None = json.loads(text)
    except ValueError:
        return None
    return kept if is_sound(kept, start.seal) else None


def calibration_rows(run: RunDirectory, config: Config, start: Identity) -> list[dict[str, Any]]:
    """What metrics.jsonl must hold of the calibration: one row where there was one."""
    kept = read_calibration(run, start) if config.sigma.auto else None
    return [] if kept is None else [_row(kept)]


def calibration_summary(run: RunDirectory, config: Config, start: Identity) -> dict[str, Any]:
    """The part of the summary about the calibration; empty without one."""
    rows = calibration_rows(run, config, start)
    return {"calibration": rows[0]} if rows else {}


def take_calibration(parent: RunDirectory, run: RunDirectory, old: Identity, new: Identity, records: int) -> None:
    """A fork begins with its parent's calibration, under its own seal. records: of the parent's journal.

    Raises RunError when there are some, and no sound calibration.
    """
    kept = _required(parent, old) if records else read_calibration(parent, old)
    if kept is not None:
        write_json(run.calibration, sealed(kept, new.seal))


def _required(run: RunDirectory, start: Identity) -> dict[str, Any]:
    kept = read_calibration(run, start)
    if kept is None:
        problem = "is damaged" if run.calibration.exists() else "is missing"
        raise RunError(
            f"{run.calibration} {problem}; bring it back from a copy: sigma is not found anew after the first step"
        )
    return kept


def _row(kept: Mapping[str, Any]) -> dict[str, Any]:
    names = ("target", "per", "tasks", "base_reward", "sigma", "found", "episodes", "cost", "seconds")
    return {"kind": "calibration", "step": 0, **{name: kept[name] for name in names}}
