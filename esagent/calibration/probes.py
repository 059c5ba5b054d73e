"""What perturbed members do to the centre's requests, and what they earn, on some training tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from esagent.assemble import Parts
from esagent.backends.base import Backend
from esagent.core.episode import Completion, Request, Task
from esagent.core.noise import key
from esagent.core.population import Perturbation
from esagent.evaluate import Rollout, mean_signals, scored_rollout
from esagent.rollout import rollout

CENTRE = Perturbation(0, 1, {})
"""A member that perturbs nothing."""


@dataclass(frozen=True)
class Group:
    """Blocks that are scaled together by one sigma.

    directions: of each direction tried, the blocks that it perturbs with their factors on that sigma.
    """

    name: str
    directions: tuple[Mapping[str, float], ...]

    def members(self, seed: int, sigma: float) -> list[Perturbation]:
        """Every direction at both signs, under keys that no step of a run uses."""
        return [
            Perturbation(
                key("calibration direction", seed, number),
                sign,
                {block: sigma * factor for block, factor in direction.items()},
                key("calibration partition", seed, number),
            )
            for number, direction in enumerate(self.directions)
            for sign in (1, -1)
        ]


@dataclass(frozen=True)
class Earned:
    """Mean reward of some members on the tasks, and whether all their logits were finite.

    signals: means of the modules that their blocks act in, as far as episodes reached them; of all for the centre.
    """

    reward: float
    finite: bool
    signals: Mapping[str, float]


class Probes:
    """The centre's own requests on `tasks`, which may be of the training pool alone, to be asked of members.

    searched: modules that a block which is no module acts in. seed: of the run. The agent is run once on every task.
    """

    def __init__(self, parts: Parts, tasks: Sequence[Task], searched: Sequence[str], seed: int) -> None:
        self._parts = parts
        self._tasks = list(tasks)
        self._searched = frozenset(searched)
        self._seed = seed
        listener = _Listener(parts.backend)
        rollout(parts.agent, parts.family, cast(Backend, listener), (), self._tasks)
        self._heard = listener.heard
        self.episodes = len(self._tasks)

    def asked(self, group: Group) -> bool:
        """Whether the centre asked anything that the group's blocks act in."""
        return any(self._concerning(direction) for direction in group.directions)

    def changed(self, tried: Sequence[tuple[Group, float]]) -> list[float]:
        """Of each group at its sigma: the share of its members' answers to the centre's requests that are others.

        Only requests to modules that a member perturbs are asked. Logits that are not finite count as a change.
        """
        members: list[Perturbation] = []
        requests: list[Request] = []
        owners: list[int] = []
        texts: list[str] = []
        for owner, (group, sigma) in enumerate(tried):
            for number, member in enumerate(group.members(self._seed, sigma)):
                for request, completion in self._concerning(group.directions[number // 2]):
                    requests.append(replace(request, member=len(members)))
                    texts.append(completion.text)
                    owners.append(owner)
                members.append(member)
        answers = self._parts.backend.generate(requests, members)
        others = np.array(
            [a.text != text or a.stop_reason == "nonfinite" for a, text in zip(answers, texts, strict=True)]
        )
        return [float(others[np.array(owners) == owner].mean()) for owner in range(len(tried))]

    def earned(self, tried: Sequence[tuple[Group, float]]) -> tuple[Earned, list[Earned]]:
        """What the centre earns on the tasks, and what each group's members do at its sigma."""
        families = [group.members(self._seed, sigma) for group, sigma in tried]
        members = [CENTRE, *(member for family in families for member in family)]
        found = scored_rollout(self._parts, members, self._tasks)
        self.episodes += len(found.episodes)
        out, first = [], 1
        for (group, _), family in zip(tried, families, strict=True):
            acted = {module for direction in group.directions for module in self._modules(direction)}
            out.append(_earned(found, range(first, first + len(family)), acted))
            first += len(family)
        return _earned(found, range(1), self._parts.agent.modules), out

    def _modules(self, direction: Mapping[str, float]) -> set[str]:
        """The modules that these blocks act in."""
        modules = {block for block in direction if block in self._parts.agent.modules}
        return modules if len(modules) == len(direction) else modules | self._searched

    def _concerning(self, direction: Mapping[str, float]) -> list[tuple[Request, Completion]]:
        """The centre's requests that these blocks act in, with its answers."""
        modules = self._modules(direction)
        return [(request, completion) for request, completion in self._heard if request.module in modules]


def _earned(found: Rollout, members: range, modules: Collection[str]) -> Earned:
    episodes = [e for e in found.episodes if e.member in members and not e.score.unscored]
    signals = {name: value for name, value in mean_signals(episodes).items() if name in modules}
    finite = all(episode.score.reason != "nonfinite" for episode in episodes)
    return Earned(float(found.rewards[list(members)].mean()), finite, signals)


class _Listener:
    """A backend that remembers what it was asked and what it answered; all else is the backend's own."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.heard: list[tuple[Request, Completion]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        answers = self._backend.generate(requests, members)
        self.heard += zip(requests, answers, strict=True)
        return answers
