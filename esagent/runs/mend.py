"""Metrics and episodes after a kill, a power loss or damage: brought back to what the journal vouches for.

Neither is ever replayed, but the summary and the learning curve are made from evaluations, and readers believe both.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from esagent.runs.atomic import write_text
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import damage, evaluation_file, step_file
from esagent.runs.identity import Identity
from esagent.runs.jsonio import canonical, plain
from esagent.runs.metrics import Row, read_lines, read_rows
from esagent.runs.seal import is_sound
from esagent.runs.snapshots import list_snapshots

_log = logging.getLogger(__name__)


def mend(
    run: RunDirectory, records: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], start: Identity
) -> None:
    """Make metrics and episodes agree with the journal's `records`; `steps` are the rows of metrics they give, and that
    of a calibration.

    metrics.jsonl then holds exactly these rows and the evaluations that are sound, of this run and of its states; an
    evaluation that is taken out counts as not done. Episodes that are not those of the run are renamed to
    `<name>.damaged`. Damage is told in warnings; what a killed process left of an unfinished step goes without one.
    """
    states = [start.digest, *(record["digest"] for record in records)]
    evaluations = _mend_rows(run.metrics, steps, states, start.seal)
    for path, problem in _damaged_episodes(run, records, evaluations):
        _log.warning("%s %s; nothing is computed from it", path, problem)
        if path.exists():
            path.replace(path.with_name(f"{path.name}.damaged"))


def warn_of_damage(run: RunDirectory, records: Sequence[Mapping[str, Any]], start: Identity) -> None:
    """Name the damaged episodes and snapshots of a run that is finished, and change nothing."""
    evaluations = [row for row in read_rows(run.metrics) if row["kind"] == "evaluation" and is_sound(row, start.seal)]
    for path, problem in _damaged_episodes(run, records, evaluations):
        _log.warning("%s %s", path, problem)
    for snapshot in list_snapshots(run.snapshots, start.seal):
        problem = snapshot.damage()
        if problem:
            _log.warning("snapshot %s is damaged: %s", snapshot.path, problem)


def _damaged_episodes(
    run: RunDirectory, records: Sequence[Mapping[str, Any]], evaluations: Sequence[Row]
) -> Iterator[tuple[Path, str]]:
    files = [(step_file(run.episodes, record["step"]), record["episodes_sha256"]) for record in records]
    files += [(evaluation_file(run.episodes, e["step"], e["split"]), e["episodes_sha256"]) for e in evaluations]
    for path, sha256 in files:
        problem = damage(path, sha256)
        if problem:
            yield path, problem


def _mend_rows(path: Path, steps: Sequence[Mapping[str, Any]], states: Sequence[str], seal: str) -> list[Row]:
    """Bring the file to exactly the rows `steps` and the sound evaluations, and return these."""
    rows = read_lines(path)
    whole = [row for row in rows if row is not None]
    expected = [plain(row) for row in steps]
    kept: dict[tuple[int, str], Row] = {}
    for row in whole:
        if row["kind"] != "evaluation" or row["step"] >= len(states):
            continue
        if is_sound(row, seal) and row.get("digest") == states[row["step"]]:
            kept[row["step"], row["split"]] = row
        else:
            _log.warning("%s: an evaluation of state %d is damaged or of another run", path, row["step"])
    missing = Counter(map(canonical, expected)) - Counter(map(canonical, whole))
    if missing:
        _log.warning("%s: rows of %d steps were lost or changed; they follow from the journal", path, missing.total())
    if None in rows[:-1]:
        _log.warning("%s: %d lines are no rows and are taken out", path, rows[:-1].count(None))
    wanted = [*expected, *kept.values()]
    if None in rows or Counter(map(canonical, wanted)) != Counter(map(canonical, whole)):
        wanted.sort(key=lambda row: (row["step"], row["kind"] == "step"))
        write_text(path, "".join(canonical(row) + "\n" for row in wanted))
    return list(kept.values())
