"""Backend `synthetic`: a module's answer is right or wrong by a formula of its searched numbers (docs/synthetic.md).

Everything around the answer is what an LLM run has: named blocks, perturbations from seeds, the same parameters with
their update rule, replay, snapshots and digests. A module of skill p is right on a task of difficulty u

    decoded greedily             when u < p
    sampled at temperature T     with probability 1 / (1 + exp(-(p - u) / T)), which greedy decoding is the limit of

and the likelihood of an answer is its probability at T = 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from esagent.backends.base import Applied
from esagent.backends.synthetic.skills import Skill
from esagent.core.chain import TOKENS, skill, squared_distance
from esagent.core.episode import UNPERTURBED, Completion, Cost, Request
from esagent.core.laws import Law
from esagent.core.noise import uniform
from esagent.core.population import Block, Perturbation, Update
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import Partition
from esagent.tasks.synthetic import RIGHT, WRONG, difficulty


class SyntheticBackend:
    """The searched numbers of `modules` (those of `searched` move, the others stay where they start)."""

    together: int | None = None

    def __init__(
        self, modules: Mapping[str, Skill], searched: Sequence[str], partition: Partition, law: Law = "gaussian"
    ) -> None:
        self._modules = dict(modules)
        self.parameters = Parameters([modules[name].tensor for name in searched], partition, Dense(law=law))
        self._difficulty: dict[tuple[str, str], float] = {}
        self._at_rest = {name: found.start for name, found in modules.items() if name not in searched}
        self._cost = Cost()

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the partition."""
        return self.parameters.blocks()

    def reach(self, module: str) -> frozenset[str]:
        """The blocks that act in a request to `module`."""
        return self.parameters.reach(module)

    def skill(self, module: str, perturbation: Perturbation | None = None) -> float:
        """p of `module` at the centre, or under a perturbation of it."""
        if module in self._at_rest:
            return self._at_rest[module]
        values = self.parameters.values(module, self.parameters.effective(module, perturbation))
        found = self._modules[module]
        (theta,) = (value.numpy() for value in values.values())
        return float(skill(squared_distance(theta, found.optimum), found.ceiling, found.width))

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer all requests, in order."""
        started = time.perf_counter()
        margins = self._margins(requests, members)
        answers = [
            Completion(RIGHT if _right(request, margin) else WRONG, prompt_tokens=TOKENS, completion_tokens=TOKENS)
            for request, margin in zip(requests, margins, strict=True)
        ]
        self._pay(len(requests), started)
        return answers

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        """The right text, or any other; each is one token."""
        started = time.perf_counter()
        margins = self._margins(requests, members)
        self._pay(len(requests), started)
        signs = (1.0 if text.strip() == RIGHT else -1.0 for text in texts)
        return [-math.log1p(math.exp(-sign * margin)) for sign, margin in zip(signs, margins, strict=True)]

    def overflow(self, request: Request, text: str) -> str:
        """There is no context to fill."""
        return ""

    def apply(self, update: Update) -> Applied:
        """Move the centre."""
        return self.parameters.apply(update)

    def digest(self) -> str:
        """Checksum of the searched numbers and the optimiser state."""
        return self.parameters.digest()

    def save(self, path: Path) -> None:
        """Write them as safetensors."""
        self.parameters.save(path)

    def load(self, path: Path) -> None:
        """Read what `save` wrote."""
        self.parameters.load(path)

    def displacement(self, start: Path) -> dict[str, float]:
        """RMS distance per block from the numbers that `save` wrote to `start`."""
        return self.parameters.displacement(start)

    def forget_optimiser(self) -> None:
        """Keep the searched numbers and start the optimiser anew."""
        self.parameters.forget_optimiser()

    def cost(self) -> Cost:
        """Requests and their two tokens each; no FLOPs, for there is no model."""
        return self._cost

    def _margins(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[float]:
        """p - u of each request; the skill of every pair of module and member is computed once."""
        known: dict[tuple[str, int], float] = {}
        for request in requests:
            place = request.module, request.member
            if place not in known:
                member = None if request.member == UNPERTURBED else members[request.member]
                known[place] = self.skill(request.module, member)
        return [known[request.module, request.member] - self._hard(request) for request in requests]

    def _hard(self, request: Request) -> float:
        place = request.prompt, request.module
        if place not in self._difficulty:
            self._difficulty[place] = difficulty(*place)
        return self._difficulty[place]

    def _pay(self, requests: int, started: float) -> None:
        seconds = time.perf_counter() - started
        self._cost += Cost(TOKENS * requests, TOKENS * requests, 0, requests, 0.0, seconds)


def _right(request: Request, margin: float) -> bool:
    """By a draw under the request's own key when it is sampled: u' < 1 / (1 + exp(-margin / T))."""
    if not request.temperature > 0:
        return margin > 0
    drawn = float(uniform(request.seed, 1)[0])
    return drawn == 0.0 or margin / request.temperature > math.log(drawn / (1.0 - drawn))
