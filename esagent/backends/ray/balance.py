"""Who gets what: requests in units that stay together, handed out by expected cost and by how fast each worker was.

The cost of a request is counted in generated tokens:

    c = a_m + READ * p            a_m: mean tokens of the module's answers so far, p: tokens of the prompt, about

and a worker's speed is the cost of what it answered over the seconds it took, newest half. Units go to workers longest
first, each to the one that would be done with it first (Graham 1969; for workers of unequal speed Gonzalez, Ibarra and
Sahni 1977: at most twice the best possible). So a worker of half the speed gets about half the work.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from esagent.core.episode import Completion, Request

READ = 1 / 8  # cost of reading a token of a prompt, where writing one costs 1
LETTERS = 4  # of a token
NEWEST = 0.5  # weight of the newest observation


@dataclass(frozen=True)
class Unit:
    """Requests that one worker answers in one call, by their numbers; `key` is what they have in common."""

    key: Hashable
    requests: tuple[int, ...]
    cost: float


class Expectation:
    """What answers of each module have cost so far; half of what is allowed, before there was any."""

    def __init__(self) -> None:
        self._answers: dict[str, float] = {}

    def cost(self, request: Request) -> float:
        """Expected cost of `request`."""
        letters = len(request.prompt) + sum(len(message.content) for message in request.messages)
        answer = self._answers.get(request.module, request.max_new_tokens / 2)
        return answer + READ * letters / LETTERS

    def learn(self, requests: Sequence[Request], completions: Sequence[Completion]) -> None:
        """Take the lengths of these answers into account."""
        lengths: dict[str, list[int]] = {}
        for request, completion in zip(requests, completions, strict=True):
            lengths.setdefault(request.module, []).append(completion.completion_tokens)
        for module, found in lengths.items():
            mean = sum(found) / len(found)
            before = self._answers.get(module, mean)
            self._answers[module] = before + NEWEST * (mean - before)


def learned_speed(before: float | None, cost: float, seconds: float) -> float:
    """Speed after `cost` was done in `seconds`; before: None when nothing was known."""
    now = cost / max(seconds, 1e-9)
    return now if before is None else before + NEWEST * (now - before)


def known_speeds(speeds: Sequence[float | None]) -> list[float]:
    """Every worker's speed; one that nothing is known of counts as the mean of the others."""
    known = [speed for speed in speeds if speed is not None]
    mean = sum(known) / len(known) if known else 1.0
    return [mean if speed is None else speed for speed in speeds]


def deal(
    units: Sequence[Unit], speeds: Sequence[float], loads: Sequence[float], places: Mapping[Hashable, int]
) -> list[int]:
    """For each unit the number of its worker, 0 <= number < len(speeds).

    speeds: cost per second, above 0. loads: cost that each worker is still busy with. places: by key of a unit, the
    worker that has what it needs already, who gets it.
    """
    busy, chosen = list(loads), [-1] * len(units)
    for number, unit in enumerate(units):
        if unit.key in places:
            chosen[number] = places[unit.key]
            busy[chosen[number]] += unit.cost
    for number in sorted(range(len(units)), key=lambda n: -units[n].cost):
        if chosen[number] < 0:
            cost = units[number].cost
            best = min(range(len(speeds)), key=lambda worker: (busy[worker] + cost) / speeds[worker])
            chosen[number] = best
            busy[best] += cost
    return chosen
