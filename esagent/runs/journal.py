"""The journal: one JSON line per finished step, checksummed, chained and fsynced. It is the checkpoint of a run.

A line is the record's own keys plus `previous` and `checksum`; `checksum` is the SHA-256 over the canonical JSON of
everything else in the line, and `previous` is the checksum of the line before, so a line that is changed, lost, doubled
or moved is found. The first line's `previous` is the run's seal (the checksum of its manifest), so another run's
journal is found too. Record n carries `"step": n`, counted from 0; it leads from state n (n updates done) to n + 1.

A process may die while it writes: a last line that is torn or damaged was never acknowledged, so it is dropped and its
step done again. Damage further up is not repaired but reported.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from esagent.errors import RunError
from esagent.runs.atomic import reporting, sync_folder
from esagent.runs.jsonio import canonical, parse, plain, restore

_START = "0" * 64
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """What a journal holds: its complete records, the checksum of the last (or the seal), and the bytes they take.

    torn: what is wrong with an unfinished line behind them, "" when there is none.
    """

    records: list[dict[str, Any]]
    head: str
    size: int
    torn: str

    def warn(self, path: Path) -> None:
        """Tell of a torn last line of the journal at `path`."""
        if self.torn:
            _log.warning("%s: the last line is dropped (%s); its step is done again", path, self.torn)


def read_journal(path: Path, seal: str | None = None) -> list[dict[str, Any]]:
    """Every complete record, in order; a missing file has none. Changes nothing on disk.

    seal: what the first line must follow; None takes any. Raises RunError naming the first damaged line, unless it is
    the last one, which is left out with a warning.
    """
    content = inspect_journal(path, seal)
    content.warn(path)
    return content.records


class Journal:
    """The journal of a run this process holds the lock of. `records` are all of them, old and new.

    `head` is the checksum of the last record (the seal before the first): it stands for all of them.
    """

    def __init__(self, path: Path, seal: str = _START) -> None:
        """Read `path`, cut off a torn last line, and open it for appending. Raises as `read_journal` does."""
        self.path = path
        content = inspect_journal(path, seal)
        self.records, self.head, self._size = content.records, content.head, content.size
        with reporting("open", path):
            fresh = not path.exists()
            self._file = path.open("ab", buffering=0)
            self._cut()
            if fresh:
                sync_folder(path.parent)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add the record of the next step; when this returns it is on the disk.

        Raises RunError when `record["step"]` is not the next step, EnvironmentFailure when the disk does not take it
        (the journal is then as it was before).
        """
        if record.get("step") != len(self.records):
            raise RunError(f"step {record.get('step')} cannot follow {len(self.records)} records in {self.path}")
        line, checksum = _encode(record, self.head)
        with reporting("write", self.path):
            try:
                written = 0
                while written < len(line):
                    written += self._file.write(line[written:]) or 0
                os.fsync(self._file.fileno())
            except OSError:
                self._cut()
                raise
        self.records.append(restore(plain(record, lossless=True)))
        self.head = checksum
        self._size += len(line)

    def close(self) -> None:
        """Close the file; nothing is pending, for every append was already synced."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _cut(self) -> None:
        """Take away whatever stands behind the last complete record."""
        if os.fstat(self._file.fileno()).st_size > self._size:
            os.ftruncate(self._file.fileno(), self._size)
            os.fsync(self._file.fileno())


def last_checksum(path: Path, seal: str) -> str:
    """What stands for all records of the journal at `path`, from its last line alone: its checksum, or the `seal` of a
    journal without records; "" when that line is damaged."""
    with reporting("read", path):
        data = path.read_bytes() if path.exists() else b""
    if not data:
        return seal
    body, problem = _parse(data[data.rfind(b"\n", 0, -1) + 1 :])
    return "" if problem else str(body["checksum"])


def _encode(record: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    body = plain(record, lossless=True) | {"previous": previous}
    checksum = _digest(body)
    return (canonical(body | {"checksum": checksum}) + "\n").encode(), checksum


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def inspect_journal(path: Path, seal: str | None = None) -> Content:
    """Read `path` as `read_journal` does, with what stands around the records, and without the warning."""
    with reporting("read", path):
        data = path.read_bytes() if path.exists() else b""
    records: list[dict[str, Any]] = []
    head, size, torn = seal, 0, ""
    *whole, tail = data.split(b"\n")
    lines = [line + b"\n" for line in whole] + ([tail] if tail else [])
    for number, line in enumerate(lines, start=1):
        body, problem = _parse(line)
        if problem and number == len(lines):
            torn = problem
            break
        problem = problem or _misplaced(body, head, len(records))
        if problem:
            raise RunError(f"{path}, line {number} of {len(lines)}: {problem}; the run cannot be replayed past it")
        head = body.pop("checksum")
        del body["previous"]
        records.append(restore(body))
        size += len(line)
    return Content(records, _START if head is None else head, size, torn)


def _parse(line: bytes) -> tuple[dict[str, Any], str]:
    """The content of `line`, and how it is damaged ("" when it is whole)."""
    if not line.endswith(b"\n"):
        return {}, "it breaks off"
    try:
        body = parse(line)
    except ValueError:
        return {}, "it is not JSON"
    if not isinstance(body, dict) or not {"checksum", "previous", "step"} <= body.keys():
        return {}, "it is not a journal record"
    if _digest({k: v for k, v in body.items() if k != "checksum"}) != body["checksum"]:
        return {}, "its checksum does not match its content"
    return body, ""


def _misplaced(body: Mapping[str, Any], previous: str | None, step: int) -> str:
    """Why a whole record does not belong where it stands ("" when it does). Tearing cannot cause this."""
    if body["step"] != step:
        return f"it is of step {body['step']} where step {step} belongs"
    if previous is None or body["previous"] == previous:
        return ""
    return "it does not follow the line before it" if step else "it is not of this run (manifest.json is another one's)"
