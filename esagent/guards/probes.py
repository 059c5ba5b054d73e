"""The model asked a handful of questions, by the centre and by members, and how likely it holds the same answers.

Likelihoods are teacher-forced: one pass, no decoding, and unlike texts they show the smallest change. The centre is
asked before the members, among them, and after them:

    among - before    what an answer depends on the batch
    after - before    0, bit for bit, where members leave no trace
    member - among    what a perturbation does
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from esagent.assemble import Parts
from esagent.core.episode import UNPERTURBED, Completion, Request, Task
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, EsagentError
from esagent.gold import gold_episode
from esagent.stopping import Told

TASKS = 1
"""Training tasks whose questions are asked."""
TOKENS = 12
"""Longest answer of an agent whose tasks have no gold outputs."""
REQUESTS = 8
"""Questions of one such episode."""
_log = logging.getLogger(__name__)

_EACH = 2
"""Questions of a module that are asked of a member."""


@dataclass(frozen=True)
class Question:
    """A request of the centre's with an answer to it."""

    request: Request
    text: str


@dataclass(frozen=True)
class Tried:
    """A member, the positions of the questions it was asked, and the log-likelihood per token of their answers."""

    member: Perturbation
    asked: tuple[int, ...]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class Probed:
    """before, among, after: log-likelihood per token of every answer under the centre, [questions].

    digests: of the searched numbers before the members and after them.
    """

    questions: tuple[Question, ...]
    before: NDArray[np.float64]
    among: NDArray[np.float64]
    after: NDArray[np.float64]
    tried: tuple[Tried, ...]
    digests: tuple[str, str]

    @property
    def noise(self) -> float:
        """The most that an answer's likelihood depends on the batch it is in, in nats per token."""
        return _largest(self.among - self.before)

    def change(self, tried: Tried) -> float:
        """The most that a member changes the likelihood of an answer, in nats per token."""
        return _largest(tried.scores - self.among[list(tried.asked)])


def probe(parts: Parts, members: Sequence[Perturbation], searched: Sequence[str]) -> Probed:
    """Ask the centre and `members` about training tasks. searched: modules that a block which is no module acts in."""
    questions = ask_about(parts, parts.pools.pool[:TASKS])
    asked = [_concerning(member, questions, parts.agent.modules, searched) for member in members]
    centre = [(question, UNPERTURBED) for question in questions]
    of_members = [(questions[place], number) for number, places in enumerate(asked) for place in places]
    digest = parts.backend.digest()
    before = _score(parts, centre, ())
    mixed = _score(parts, [*centre, *of_members], members)
    after = _score(parts, centre, ())
    among, rest = mixed[: len(centre)], mixed[len(centre) :]
    ends = np.cumsum([len(places) for places in asked])[:-1]
    scores = np.split(rest, ends) if members else []
    tried = [Tried(*found) for found in zip(members, asked, scores, strict=True)]
    return Probed(tuple(questions), before, among, after, tuple(tried), (digest, parts.backend.digest()))


def ask_about(parts: Parts, tasks: Sequence[Task]) -> list[Question]:
    """Every question of the gold episodes with its gold answer; where there is none, the centre's own episodes."""
    found: list[Question] = []
    for task in tasks:
        try:
            gold = gold_episode(parts.agent, parts.family, task)
            found += [Question(request, text) for request, text in zip(gold.requests, gold.texts, strict=True)]
        except ConfigError:
            found += _own_episode(parts, task)
    overflow = parts.backend.overflow
    return [question for question in found if not overflow(question.request, question.text)]


def _own_episode(parts: Parts, task: Task) -> list[Question]:
    """The centre's questions on `task` and what it answers, cut short. What fails in it is for the rollout to tell."""
    found: list[Question] = []
    answer: Completion | None = None
    try:
        run = parts.agent.run(task, parts.family.env(task))
        while len(found) < REQUESTS:
            request = next(run) if answer is None else run.send(answer)
            request = replace(request, max_new_tokens=min(TOKENS, request.max_new_tokens), temperature=0.0)
            (answer,) = parts.backend.generate([request], ())
            if answer.text.strip():
                found.append(Question(request, answer.text))
    except StopIteration:
        return found
    except (EsagentError, Told):
        raise
    except Exception as error:  # of a user's agent or environment
        _log.debug("the probe of task %s ended early: %s", task.id, error)
    return found


def _concerning(
    member: Perturbation, questions: Sequence[Question], modules: Sequence[str], searched: Sequence[str]
) -> tuple[int, ...]:
    """Positions of the questions that a member's blocks act in, at most `_EACH` of a module."""
    blocks = {block for block, sigma in member.sigma.items() if sigma}
    acted = blocks if blocks <= set(modules) else {*searched, *blocks}
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        if question.request.module in acted:
            places.setdefault(question.request.module, []).append(place)
    return tuple(sorted(place for of_module in places.values() for place in of_module[:_EACH]))


def _score(parts: Parts, asked: Sequence[tuple[Question, int]], members: Sequence[Perturbation]) -> NDArray[np.float64]:
    requests = [replace(question.request, member=member) for question, member in asked]
    texts = [question.text for question, _ in asked]
    return np.array(parts.backend.score(requests, texts, members) if asked else [], dtype=np.float64)


def _largest(difference: NDArray[np.float64]) -> float:
    """Largest absolute value; infinite where one is no number."""
    return float(np.nan_to_num(np.abs(difference), nan=np.inf).max(initial=0.0))
