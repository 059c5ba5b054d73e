"""Are the numbers of a run those that it wrote? Read from its seals; nothing is locked or changed.

Looked at are the files that results are read from: settings, evaluations, summary. A resume looks at all files, and
makes again what is told here of metrics.jsonl and summary.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from esagent.errors import ConfigError, RunError
from esagent.runs.atomic import reporting
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import changes, read_manifest, read_settings
from esagent.runs.journal import last_checksum
from esagent.runs.jsonio import parse
from esagent.runs.metrics import read_rows
from esagent.runs.outcome import metrics_digest
from esagent.runs.seal import is_sound

_AGAIN = "esagent resume makes it again where it can"


def doubts(run: RunDirectory) -> Iterator[tuple[str, str]]:
    """(file, what is wrong with it) for each file that does not hold what the run wrote.

    Without its manifest nothing vouches for a run; any other file may be missing. Raises EnvironmentFailure when the
    disk does not give one.
    """
    try:
        manifest = read_manifest(run)
    except RunError:
        yield run.manifest.name, "is missing or damaged, and without it nothing vouches for the other files"
        return
    yield from _settings(run, manifest)
    summary = _summary(run)
    if summary is not None and not is_sound(summary, last_checksum(run.journal, manifest["checksum"])):
        yield run.summary.name, f"is damaged, or does not belong to journal.jsonl; {_AGAIN}"
        summary = None
    if summary is None:
        yield from _evaluations(run, manifest["checksum"])
    elif summary["metrics_sha256"] != metrics_digest(run):
        yield run.metrics.name, f"was changed after the run ended; {_AGAIN}"


def _settings(run: RunDirectory, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    try:
        found = changes(manifest["config"], read_settings(run, manifest))
    except ConfigError as error:
        yield run.config.name, str(error).removeprefix(f"{run.config} ")
        return
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield run.config.name, f"does not hold the settings of the run: {found[0]}{more}"


def _summary(run: RunDirectory) -> Any:
    with reporting("read", run.summary):
        text = run.summary.read_bytes() if run.summary.exists() else b"null"
    try:
        return parse(text)
    except ValueError:
        return {}


def _evaluations(run: RunDirectory, seal: str) -> Iterator[tuple[str, str]]:
    damaged = [row for row in read_rows(run.metrics) if row["kind"] == "evaluation" and not is_sound(row, seal)]
    if damaged:
        first = f"the evaluation of state {damaged[0]['step']} on {damaged[0].get('split')}"
        more = f" and {len(damaged) - 1} more are" if len(damaged) > 1 else " is"
        yield run.metrics.name, f"is damaged: {first}{more} not what the run wrote; {_AGAIN}"
