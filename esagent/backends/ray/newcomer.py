"""The way of a worker that starts late: it is made, makes every move of the search, and arrives at the same digest."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from esagent.backends.ray.history import History
from esagent.backends.ray.traffic import Traffic
from esagent.backends.ray.wire import Parcel, Sender, pack, unpack
from esagent.backends.ray.worker import Ready
from esagent.errors import EsagentError

_CHUNK = 16  # moves that a newcomer is asked to make at once

Call = tuple[str, tuple[Any, ...]]
"""A method of a worker and its arguments."""


class Lost(Exception):
    """A worker cannot be used, for this reason."""


@dataclass(eq=False)
class Handle:
    """A worker as the driver knows it. speed: cost a second, None while nothing is known."""

    number: int
    actor: Any
    ready: Ready | None = None
    sender: Sender = field(default_factory=Sender)
    speed: float | None = None

    def call(self, method: str, *arguments: Any) -> Any:
        """Start a call; returns Ray's reference to its result."""
        return getattr(self.actor, method).remote(*arguments)


def result(reference: Any, deadline: float, limit: float) -> Any:
    """What a call came to, waiting for it until `deadline`.

    Raises Lost when it did not answer in time, died, or failed by an error that is no EsagentError; those pass through.
    """
    try:
        return ray.get(reference, timeout=max(0.0, deadline - time.monotonic()))
    except ray.exceptions.GetTimeoutError as error:
        raise Lost(f"no answer within backend.time_limit={limit:g} seconds") from error
    except RayTaskError as error:
        if isinstance(error.cause, EsagentError):
            raise error.cause from None
        lines = str(error.cause).strip().splitlines() or ["no message"]
        raise Lost(f"{type(error.cause).__name__}: {lines[0][:200]}") from error
    except RayError as error:
        raise Lost(f"it died ({type(error).__name__})") from error


def unlike(first: Ready, other: Ready) -> str:
    """In what two workers differ that must be alike; "" when they are."""
    for name in {**first.facts, **other.facts}:
        mine, its = first.facts.get(name), other.facts.get(name)
        if mine != its:
            return f"{name} is {its} instead of {mine}"
    if (first.blocks, first.digest) != (other.blocks, other.digest):
        return "they search other numbers, or from another start"
    return ""


class Newcomer:
    """One on its way. digest: of where it stands, once it has caught up; "" before."""

    def __init__(
        self, handle: Handle, spec: bytes, like: Ready, history: History, traffic: Traffic, limit: float
    ) -> None:
        self.handle, self.digest, self.replayed, self.began = handle, "", 0, time.monotonic()
        self._like, self._history, self._traffic, self._limit = like, history, traffic, limit
        self._journey = self._travel(spec)
        self._ask(next(self._journey))

    def advance(self) -> bool:
        """Go on as far as it has come, without waiting; whether it has arrived. Raises Lost when it never will."""
        if self._reference is None:
            return self._tell(None)
        done, _ = ray.wait([self._reference], timeout=0)
        if not done and time.monotonic() < self._deadline:
            return False
        try:
            answer = result(self._reference, self._deadline, self._limit)
        except EsagentError as error:
            return self._tell(error)
        return self._tell(answer)

    def _tell(self, answer: Any) -> bool:
        try:
            if isinstance(answer, EsagentError):
                self._ask(self._journey.throw(answer))
            else:
                self._ask(self._journey.send(answer))
        except StopIteration:
            return True
        except EsagentError as error:
            raise Lost(str(error)) from error
        return False

    def _ask(self, call: Call | None) -> None:
        self._deadline = time.monotonic() + self._limit
        self._reference = None if call is None else self.handle.call(call[0], *call[1])

    def _travel(self, spec: bytes) -> Generator[Call | None, Any, None]:
        """What it is asked, one call after the other; None: nothing, until it is looked at again."""
        history = self._history
        self.handle.ready = ready = unpack((yield "build", (spec,)))
        if difference := unlike(self._like, ready):
            raise Lost(f"it is not like the others: {difference}")
        position, epoch, digest = -1, -1, ready.digest
        while True:
            if epoch != history.epoch:  # it is new, or all loaded a file while it was on its way
                position, digest = yield from self._enter(position < 0, digest)
                epoch = history.epoch
            elif position < len(history.moves):
                moves = history.moves[position : position + _CHUNK]
                parcel = Parcel(pack(moves))
                self._traffic.replay += len(parcel.control)
                self.digest, digest = "", unpack((yield "make_moves", (parcel,)).control)
                position += len(moves)
                self.replayed += len(moves)
            elif not history.digest:
                self.digest = digest
                yield None
            elif digest != history.digest:
                raise Lost(f"it came to digest {digest}, the others are at {history.digest}")
            else:
                return

    def _enter(self, fresh: bool, digest: str) -> Generator[Call | None, Any, tuple[int, str]]:
        """Get on the shortest way that is open: (moves it saves, digest there). `digest`: where it is made."""
        reason = "no file of the state is left to start from"
        for route in self._history.routes(fresh):
            if route.path is None:
                return route.position, digest
            try:
                return route.position, unpack((yield "load", (route.path,)).control)
            except EsagentError as error:  # pruned, or not written where it can be seen: there may be a longer way
                reason = str(error)
        raise Lost(reason)
