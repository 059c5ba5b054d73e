"""One state of a run on disk: named `best`, `last` or by the number of updates done, and brought into a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.config.limits import limit_of
from esagent.config.schema import Config
from esagent.core.ledger import step_cost
from esagent.errors import ConfigError, EnvironmentFailure, RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import Identity, identity, read_manifest, read_settings, require_settings
from esagent.runs.journal import inspect_journal
from esagent.runs.jsonio import parse
from esagent.runs.place import read_located
from esagent.runs.resume import Replayable, replay

BEST, LAST = "best", "last"


@dataclass(frozen=True)
class State:
    """The searched parameters of `run` after `step` updates, and what the run wrote down about itself."""

    run: RunDirectory
    step: int
    config: Config
    manifest: Mapping[str, Any]
    start: Identity
    records: list[dict[str, Any]]

    def bring(self, backend: Replayable) -> str:
        """Put `backend` into this state and return its digest. Raises ConfigError, one line, when it does not fit."""
        try:
            replay(self.run.snapshots, self.records, backend, self.step, self.start)
        except RunError as error:
            raise ConfigError(f"state {self.step} of {self.run.path}: {error}") from error
        return backend.digest()


def is_state(text: str) -> bool:
    """Whether `text` has the form of a state."""
    return text in (BEST, LAST) or (text.isascii() and text.isdecimal())


def find_state(run: RunDirectory, wanted: str) -> State:
    """The state `wanted` of `run`; changes nothing on disk.

    Raises ConfigError, one line, for a state the run does not have and for a run that cannot be read, and with a line
    for each difference when config.yaml does not hold the settings that the run was started with.
    """
    if not is_state(wanted):
        raise ConfigError(f"state {wanted!r}: must be {BEST}, {LAST}, or a number of updates")
    config = read_located(run)
    try:
        manifest = read_manifest(run)
        start = identity(manifest)
        records = inspect_journal(run.journal, start.seal).records
    except (RunError, EnvironmentFailure) as error:
        raise ConfigError(str(error)) from error
    require_settings(run, manifest, read_settings(run, manifest))
    if wanted == BEST:
        step = _best(run, len(records))
    elif wanted == LAST:  # a step that went beyond the budget does not count
        limit = limit_of(config)
        step = limit.counted([step_cost(record, limit.kind) for record in records])
    else:
        step = int(wanted)
    if step > len(records):
        raise ConfigError(f"state {step}: {run.path} has done {len(records)} updates; choose 0 to {len(records)}")
    return State(run, step, config, manifest, start, records)


def _best(run: RunDirectory, done: int) -> int:
    if not run.summary.exists():
        raise ConfigError(
            f"state {BEST}: {run.path} has not finished, so none was chosen; take {LAST} or a number from 0 to {done}, "
            f"or go on with: esagent resume {run.typed}"
        )
    step = _read_json(run.summary).get("selected_step")
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise ConfigError(f"{run.summary} names no chosen state; take {LAST} or a number from 0 to {done}")
    return step


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} holds no JSON object")
    return value
