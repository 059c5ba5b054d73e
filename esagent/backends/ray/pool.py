"""Workers that are in the state of the search, and newcomers on their way there.

A worker is lost when its process or node dies, when it does not answer in time, when it fails in a way that is nobody's
mistake, and when its digest differs from the others'. It is killed, the event is recorded, and while others are left
another one is started in its place, which joins when it has made every move of the search and its digest is the agreed
one. When no worker is left the run ends; its journal stays, and a resume goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ray

from esagent.backends.ray import cluster
from esagent.backends.ray.history import History
from esagent.backends.ray.newcomer import Handle, Lost, Newcomer, result, unlike
from esagent.backends.ray.traffic import Traffic
from esagent.backends.ray.wire import Parcel, unpack
from esagent.backends.ray.worker import Ready
from esagent.errors import EnvironmentFailure, RunError

_POLL = 0.1  # seconds between two looks at what is going on


class Pool:
    """`count` workers made by `spawn` and told `spec`, the packed (configuration, modules).

    limit: seconds that one call may take, starting included. spares: how many lost workers are replaced in all.
    Raises EnvironmentFailure when they do not start or are not alike, and what the making of an inner backend raises.
    """

    def __init__(
        self, spec: bytes, count: int, spawn: Callable[[], Any], *, limit: float, spares: int, traffic: Traffic
    ) -> None:
        self._spec, self._spawn, self._spares = spec, spawn, spares
        self.limit, self.traffic = limit, traffic
        self.workers: list[Handle] = []
        self._coming: list[Newcomer] = []
        self._made = 0
        try:
            self.ready = self._start(count)
        except BaseException:
            self.close()
            raise
        self.history = History(self.ready.digest)

    def _start(self, count: int) -> Ready:
        self.workers = [self._new() for _ in range(count)]
        waiting = {handle: handle.call("build", self._spec) for handle in self.workers}
        deadline = time.monotonic() + self.limit
        made: list[Ready] = []
        for handle, reference in waiting.items():
            try:
                handle.ready = unpack(result(reference, deadline, self.limit))
            except Lost as lost:
                raise EnvironmentFailure(f"worker {handle.number} did not start: {lost}") from lost
            made.append(handle.ready)
            if difference := unlike(made[0], handle.ready):
                raise EnvironmentFailure(f"workers are not alike: of worker {handle.number}, {difference}")
        return made[0]

    def _new(self) -> Handle:
        self._made += 1
        return Handle(self._made - 1, self._spawn())

    def call(self, method: str, *arguments: Any, handles: Sequence[Handle] | None = None) -> dict[Handle, Any]:
        """The same call to all workers (or to `handles`); the answers of those that gave one.

        Raises what a worker raised on purpose, and RunError when no worker is left.
        """
        asked = list(self.workers if handles is None else handles)
        waiting = {handle: handle.call(method, *arguments) for handle in asked}
        deadline = time.monotonic() + self.limit
        found: dict[Handle, Any] = {}
        for handle, reference in waiting.items():
            try:
                found[handle] = answer = result(reference, deadline, self.limit)
            except Lost as lost:
                self.lose(handle, str(lost))
                continue
            parcels = (part for part in (*arguments, answer) if isinstance(part, Parcel))
            self.traffic.carried(handle.number, *parcels)
        return found

    def one(self, method: str, *arguments: Any) -> Any:
        """The answer of one worker, whichever. Raises as `call` does."""
        while True:
            found = self.call(method, *arguments, handles=self.workers[:1])
            if found:
                return next(iter(found.values()))

    def ended(self, calls: Mapping[Any, float]) -> list[Any]:
        """References to calls in flight, by their deadlines, that came to an end or are overdue; waits a moment."""
        done, rest = ray.wait(list(calls), num_returns=1, timeout=_POLL)
        now = time.monotonic()
        return done + [reference for reference in rest if calls[reference] < now]

    def lose(self, handle: Handle, why: str) -> None:
        """Give `handle` up and start another one in its place. Raises RunError when none is left."""
        self.workers.remove(handle)
        _kill(handle)
        self.traffic.event("lost", handle.number, why)
        if not self.workers:
            raise RunError(
                f"no worker is left (worker {handle.number}: {why}); finished steps are kept, and esagent resume goes "
                "on after them"
            )
        self._replace(handle.number)

    def _replace(self, number: int) -> None:
        if self._spares <= 0:
            self.traffic.event("not replaced", number, "backend.spares is used up")
            return
        self._spares -= 1
        handle = self._new()
        self._coming.append(Newcomer(handle, self._spec, self.ready, self.history, self.traffic, self.limit))
        self.traffic.event("started", handle.number, f"in place of worker {number}")

    def welcome(self) -> None:
        """Let newcomers go on as far as they have come, without waiting for them."""
        for newcomer in list(self._coming):
            handle = newcomer.handle
            try:
                arrived = newcomer.advance()
            except Lost as lost:
                self._coming.remove(newcomer)
                _kill(handle)
                self.traffic.event("failed to start", handle.number, str(lost))
                self._replace(handle.number)
                continue
            if arrived:
                self._coming.remove(newcomer)
                self.workers.append(handle)
                seconds = round(time.monotonic() - newcomer.began, 2)
                self.traffic.event("joined", handle.number, replayed=newcomer.replayed, seconds=seconds)

    def agree(self, digests: Mapping[Handle, str]) -> str:
        """The right one of what workers say of the present state; those that say otherwise are lost.

        Right is what was agreed before, else what more than half of them say; where none has a majority a worker is
        made anew and decides. Raises RunError when it does not, either.
        """
        known = self.history.digest
        votes = Counter(digests.values())
        if known and known not in votes:
            raise RunError(f"no worker is in the state it was in: its digest was {known}, they have {_told(votes)}")
        ((best, count), *others) = votes.most_common()
        if known:
            best = known
        elif others and count * 2 <= len(digests):
            best = self._decide(digests, votes)
        self.history.digest = best
        self.welcome()  # who has decided is one of those that are left
        for handle, digest in digests.items():
            if digest != best and handle in self.workers:
                self.lose(handle, f"its digest is {digest}, that of the others {best}")
        return best

    def _decide(self, digests: Mapping[Handle, str], votes: Counter[str]) -> str:
        """Ask a worker that makes all moves from a file or from scratch; it takes the place of one of the doubtful."""
        doubtful = [handle for handle in digests if handle in self.workers][-1]
        self.lose(doubtful, f"workers have digests {_told(votes)}, and none has a majority")
        while self._coming:
            self.welcome()
            judges = [newcomer.digest for newcomer in self._coming if newcomer.digest]
            if judges and judges[0] in votes:
                return judges[0]
            if judges:
                break
            time.sleep(_POLL)
        raise RunError(f"workers do not agree on the state after an update: {_told(votes)}")

    def close(self) -> None:
        """End all workers."""
        for handle in (*self.workers, *(newcomer.handle for newcomer in self._coming)):
            cluster.kill(handle.actor)
        self.workers, self._coming = [], []


def _kill(handle: Handle) -> None:
    if handle.ready is None:
        cluster.kill(handle.actor)
    else:
        cluster.kill(handle.actor, handle.ready.pid, handle.ready.node)


def _told(votes: Counter[str]) -> str:
    return ", ".join(f"{digest} ({count})" for digest, count in votes.most_common())
