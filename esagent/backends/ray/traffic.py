"""What went between driver and workers, in bytes as they are sent and received, and what became of workers."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import Any

from esagent.backends.ray.wire import Parcel

LIMIT = 64 * 1024
"""Bytes of a step and worker, beside texts, above which a warning is given once."""

_log = logging.getLogger(__name__)


class Traffic:
    """Counts since the last `mark`, and events since the last `report`.

    message: bytes of control parts by worker, both ways. text: of all texts. calls: messages that were answered.
    replay: bytes that newcomers were told of the past.
    """

    def __init__(self) -> None:
        self.message: Counter[int] = Counter()
        self.text = self.calls = self.replay = 0
        self._events: list[dict[str, Any]] = []
        self._warned = False

    def mark(self) -> None:
        """Begin to count anew."""
        self.message.clear()
        self.text = self.calls = self.replay = 0

    def carried(self, worker: int, *parcels: Parcel) -> None:
        """A call with its answer."""
        self.calls += 1
        for parcel in parcels:
            self.message[worker] += len(parcel.control)
            self.text += len(parcel.texts)

    def event(self, kind: str, worker: int, why: str = "", **numbers: float) -> None:
        """Something became of a worker: `lost`, `started`, `joined`, `failed to start` or `not replaced`."""
        _log.warning("worker %d %s%s", worker, kind, f": {why}" if why else "")
        what = {"event": kind, "worker": worker} | ({"why": why} if why else {})
        self._events.append(what | {"at": round(time.time(), 3)} | numbers)

    def report(self, workers: int) -> dict[str, Any]:
        """Plain data: `workers` now, `message_bytes` of the worker that had most, their sum, and the rest."""
        most = max(self.message.values(), default=0)
        if most > LIMIT and not self._warned:
            self._warned = True
            _log.warning("a step took %d bytes of messages to a worker beside texts, more than %d", most, LIMIT)
        events, self._events = self._events, []
        return {
            "workers": workers,
            "message_bytes": most,
            "all_message_bytes": sum(self.message.values()),
            "text_bytes": self.text,
            "replay_bytes": self.replay,
            "calls": self.calls,
            "events": events,
        }
