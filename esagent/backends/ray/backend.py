"""Backend `ray`: a pool of workers, each with a backend of its own, as one backend.

    generate, score     requests are dealt to workers and answered once each (asking.py)
    apply               every worker makes the update from its seeds and proves it by digest (pool.py)
    save, load          one worker writes, all read: files are shared, weights are in no message

With an inner backend whose answers do not depend on their batch (backend.deterministic), rewards and digests are those
of the inner backend alone, for any number of workers and whatever becomes of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from esagent.backends.base import Applied
from esagent.backends.ray.asking import Asking
from esagent.backends.ray.pool import Pool
from esagent.backends.ray.units import Split, make_units, parameters_of, twins
from esagent.backends.ray.wire import Parcel, pack, unpack, unpack_completions, unpack_scores
from esagent.core.episode import Completion, Cost, Request
from esagent.core.population import Block, Perturbation, Update
from esagent.errors import RunError

_Answer = TypeVar("_Answer")


class RayBackend:
    """Speaks for the workers of `pool`. split: see `units`. share: ask the same only once."""

    def __init__(self, pool: Pool, split: Split, *, share: bool = True) -> None:
        self.pool, self._split, self._share = pool, split, share
        self._asking = Asking(pool)
        self._cost = Cost()
        each = pool.ready.together
        self.together = each and each * len(pool.workers)
        self.facts = dict(pool.ready.facts)
        """What the numbers of workers depend on: device, dtype, threads and versions."""

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the inner backend."""
        return self.pool.ready.blocks

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer all requests, in order; identical ones once."""
        started = time.perf_counter()
        parameters = parameters_of(requests, members, self.pool.ready.reach)
        first = twins(requests, parameters) if self._share else list(range(len(requests)))
        numbers = list(dict.fromkeys(first))
        units = make_units(requests, parameters, numbers, self._split, self._asking.expected)
        found, cost = self._asking.work("generate", units, requests, members, None, unpack_completions)
        self._asking.expected.learn([requests[number] for number in numbers], [found[number] for number in numbers])
        answers = [found[of] if of == number else replace(found[of], shared=True) for number, of in enumerate(first)]
        again = [answer for number, answer in enumerate(answers) if first[number] != number]
        self._pay(
            cost, sum(a.prompt_tokens for a in again), sum(a.completion_tokens for a in again), len(again), started
        )
        return answers

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        """Mean log-likelihood per token of each text, teacher-forced; see `Backend.score`."""
        started = time.perf_counter()
        parameters = parameters_of(requests, members, self.pool.ready.reach)
        everything = range(len(requests))
        units = make_units(requests, parameters, everything, self._split, self._asking.expected)
        found, cost = self._asking.work("score", units, requests, members, texts, unpack_scores)
        self._pay(cost, 0, 0, 0, started)
        return [found[number] for number in everything]

    def _pay(self, cost: Cost, prompt: int, completion: int, requests: int, started: float) -> None:
        """Count what workers did, what was shared beside that, and the time that all of it took."""
        shared = Cost(prompt, completion, prompt + completion, requests)
        self._cost += replace(cost, seconds=time.perf_counter() - started) + shared

    def overflow(self, request: Request, text: str) -> str:
        """As the inner backend."""
        return str(self.pool.one("overflow", request, text))

    def apply(self, update: Update) -> Applied:
        """Let every worker move its centre. Raises RunError when they do not agree on where that leads."""
        self.pool.welcome()
        self._asking.moved()
        self.pool.history.add(update)
        told = self.pool.call("apply", Parcel(pack(update)))
        found: dict[Any, Applied] = {handle: unpack(parcel.control) for handle, parcel in told.items()}
        digest = self.pool.agree({handle: applied.digest for handle, applied in found.items()})
        return next(applied for applied in found.values() if applied.digest == digest)

    def forget_optimiser(self) -> None:
        """Let every worker keep its parameters and start its optimiser anew."""
        self._asking.moved()
        self.pool.history.add(None)
        self._agree("make_moves", Parcel(pack([None])))

    def digest(self) -> str:
        """The digest that workers agree on, taken now."""
        return self._agree("digest")

    def _agree(self, method: str, *arguments: Any) -> str:
        told = self.pool.call(method, *arguments)
        return self.pool.agree({handle: unpack(parcel.control) for handle, parcel in told.items()})

    def save(self, path: Path) -> None:
        """Let a worker write the state. Raises RunError when it writes where this process cannot read."""
        self.digest()  # whoever is not in the state that is to be written is lost now
        self.pool.one("save", path.absolute())
        if not path.exists():
            raise RunError(f"{path}: written by a worker, but not here; runs_dir must be a folder that all nodes share")

    def load(self, path: Path) -> None:
        """Let every worker read what `save` wrote."""
        self._asking.moved()
        self.pool.history.loaded(path.absolute())
        self._agree("load", path.absolute())

    def kept(self, path: Path) -> None:
        """The present state is also in the file `path`, from which newcomers may start."""
        self.pool.history.kept(path.absolute())

    def displacement(self, start: Path) -> dict[str, float]:
        """As the inner backend."""
        found: dict[str, float] = self.pool.one("displacement", start.absolute())
        return found

    def cost(self) -> Cost:
        """Everything that was answered. FLOPs are those of workers, seconds those of this process."""
        return self._cost

    def mark(self) -> None:
        """Begin to count messages anew."""
        self.pool.traffic.mark()

    def report(self) -> dict[str, Any]:
        """Messages since `mark`, and what became of workers since the last report."""
        return self.pool.traffic.report(len(self.pool.workers))

    def close(self) -> None:
        """End the workers."""
        self.pool.close()
