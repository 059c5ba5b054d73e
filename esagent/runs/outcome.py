"""summary.json, the result of a run: believed only when it was made from this journal and these metrics.

It is sealed with the head of the journal, which stands for every record, and holds the SHA-256 of metrics.jsonl, from
which it and the learning curve were made. One that does not fit is computed again by a resume.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from esagent.runs.atomic import reporting, write_json
from esagent.runs.directory import RunDirectory
from esagent.runs.jsonio import parse
from esagent.runs.seal import is_sound, sealed

_log = logging.getLogger(__name__)


def write_outcome(run: RunDirectory, summary: Mapping[str, Any], head: str) -> dict[str, Any]:
    """Write `summary` with its seals, and return it so. head: checksum of the journal's last record."""
    whole = sealed({**summary, "metrics_sha256": metrics_digest(run)}, head)
    write_json(run.summary, whole)
    return whole


def read_outcome(run: RunDirectory, head: str) -> dict[str, Any] | None:
    """The summary when it is there and fits journal and metrics, else None, with a warning where it is there."""
    with reporting("read", run.summary):
        text = run.summary.read_bytes() if run.summary.exists() else None
    if text is None:
        return None
    try:
        summary: dict[str, Any] = parse(text)
    except ValueError:
        summary = {}
    if not is_sound(summary, head):
        _log.warning("%s is damaged or not of this journal; it is made again", run.summary)
        return None
    if summary["metrics_sha256"] != metrics_digest(run):
        _log.warning("%s was changed after the run ended; the summary is made again", run.metrics)
        return None
    return summary


def metrics_digest(run: RunDirectory) -> str:
    """SHA-256 of metrics.jsonl, that of nothing when there is no such file."""
    with reporting("read", run.metrics):
        return hashlib.sha256(run.metrics.read_bytes() if run.metrics.exists() else b"").hexdigest()
