"""Requests handed out to workers, and every one of them answered once, whatever becomes of workers meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from esagent.backends.ray.balance import Expectation, Unit, deal, known_speeds, learned_speed
from esagent.backends.ray.newcomer import Handle, Lost, result
from esagent.backends.ray.pool import Pool
from esagent.backends.ray.wire import Parcel
from esagent.core.episode import Cost, Request
from esagent.core.population import Perturbation
from esagent.errors import RunError

_Answer = TypeVar("_Answer")

_LAST_MOMENT = 1.0  # seconds in which an answer that is there must be had

MOST_FAILURES = 3
"""Workers that may fail on the same unit before the fault is taken for the unit's own."""


@dataclass(frozen=True)
class _Call:
    """One that is in flight."""

    handle: Handle
    units: list[Unit]
    parcel: Parcel
    deadline: float

    @property
    def cost(self) -> float:
        return sum(unit.cost for unit in self.units)


class Asking:
    """Asks the workers of `pool`, and remembers who has answered for which unit in the present state of the search."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._places: dict[Hashable, Handle] = {}
        self.expected = Expectation()

    def moved(self) -> None:
        """The search is in another state: what workers had computed for members is of no use any more."""
        self._places = {}
        for handle in self._pool.workers:
            handle.sender.forget_members()

    def work(
        self,
        method: str,
        units: Sequence[Unit],
        requests: Sequence[Request],
        members: Sequence[Perturbation],
        texts: Sequence[str] | None,
        unpacked: Callable[[Parcel], tuple[list[_Answer], Cost, float]],
    ) -> tuple[dict[int, _Answer], Cost]:
        """The answers to all requests of `units` by their numbers, and what those that came in cost.

        What a lost worker was asked is asked of another one. Raises RunError when no worker is left, and when several
        workers failed on one unit; what a worker raised on purpose passes through.
        """
        waiting, failed = list(units), dict.fromkeys((unit.key for unit in units), 0)
        flight: dict[Any, _Call] = {}
        answers: dict[int, _Answer] = {}
        cost = Cost()
        while waiting or flight:
            self._pool.welcome()
            for handle, share in self._shares(waiting, flight).items():
                numbers = [number for unit in share for number in unit.requests]
                asked = [requests[number] for number in numbers]
                parcel = handle.sender.ask(asked, members, texts and [texts[number] for number in numbers])
                flight[handle.call(method, parcel)] = _Call(handle, share, parcel, time.monotonic() + self._pool.limit)
                sent = {unit.key for unit in share}
                waiting = [unit for unit in waiting if unit.key not in sent]
            for reference in self._pool.ended({reference: call.deadline for reference, call in flight.items()}):
                call = flight.pop(reference)
                try:
                    parcel = result(reference, time.monotonic() + _LAST_MOMENT, self._pool.limit)
                except Lost as lost:
                    waiting += call.units
                    self._pool.lose(call.handle, str(lost))
                    self._blame(call.units, failed, str(lost))
                    continue
                found, spent, seconds = unpacked(parcel)
                self._pool.traffic.carried(call.handle.number, call.parcel, parcel)
                call.handle.speed = learned_speed(call.handle.speed, call.cost, seconds)
                answers.update(zip((n for unit in call.units for n in unit.requests), found, strict=True))
                cost += spent
        return answers, cost

    def _shares(self, waiting: Sequence[Unit], flight: Mapping[Any, _Call]) -> dict[Handle, list[Unit]]:
        """What workers that have nothing to do are asked next. Those at work keep a share for when they are done."""
        workers = self._pool.workers
        busy = {call.handle: call.cost for call in flight.values()}
        places = {key: workers.index(handle) for key, handle in self._places.items() if handle in workers}
        speeds = known_speeds([handle.speed for handle in workers])
        chosen = deal(waiting, speeds, [busy.get(handle, 0.0) for handle in workers], places)
        shares: dict[Handle, list[Unit]] = {}
        for unit, number in zip(waiting, chosen, strict=True):
            if workers[number] not in busy:
                shares.setdefault(workers[number], []).append(unit)
                self._places[unit.key] = workers[number]
        return shares

    @staticmethod
    def _blame(units: Sequence[Unit], failed: dict[Hashable, int], why: str) -> None:
        for unit in units:
            failed[unit.key] += 1
            if failed[unit.key] >= MOST_FAILURES:
                raise RunError(f"{MOST_FAILURES} workers failed on the same requests, the last one: {why}")
