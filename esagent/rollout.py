"""Runs many episode coroutines in lockstep: one batched generate call per round for all members and tasks.

A backend that makes its members one after the other is given one member's episodes to their end, then the next one's.

A failure of the model (unreadable output, logits that are not finite) is a low reward with a reason. A failure of the
harness (an agent, environment or scorer that raises) is `unscored`: it says nothing about the member, so its task is
dropped for all members.

An episode that outgrows the model's context is a failure of the model when something it wrote is in the text: another
member that was as good, but shorter, would have got through. The first request of an episode is the task's and the
agent's alone. Where that is too long already no member is to blame, and the failure is the harness's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from esagent.agents.base import Agent
from esagent.backends.base import Backend
from esagent.core.episode import UNPERTURBED, Completion, Episode, Request, Score, Task, Trajectory, Turn
from esagent.core.noise import key
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, EsagentError, RunError
from esagent.stopping import Told
from esagent.tasks.base import TaskFamily

MAX_REQUESTS = 256
"""An episode that asks more than this is stopped and counts as a failure of the agent's code."""

MAX_UNSCORED = 0.1
"""Share of unscored episodes above which a step says nothing."""

OnRound = Callable[[int, int], None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sampling:
    """Every task `samples` times at `temperature` > 0, whatever an agent's own requests say.

    A request is sampled under the key (seed, task, sample, number of the request in its episode): the same draws for
    every agent that is compared, and independent of what else is in a batch.
    """

    samples: int
    temperature: float
    seed: int

    def decode(self, request: Request, task: Task, sample: int, number: int) -> Request:
        """`request`, the `number`-th of its episode, with its temperature and key."""
        return replace(
            request, temperature=self.temperature, seed=key("sampled request", self.seed, task.id, sample, number)
        )


class UnscoredError(RunError):
    """Too many episodes of a step could not be scored; `share` of them."""

    def __init__(self, share: float, reason: str) -> None:
        super().__init__(f"{share:.0%} of the episodes could not be scored (at most {MAX_UNSCORED:.0%}): {reason}")
        self.share = share


def rollout(
    agent: Agent,
    family: TaskFamily,
    backend: Backend,
    members: Sequence[Perturbation],
    tasks: Sequence[Task],
    *,
    member_ids: Sequence[int] | None = None,
    on_round: OnRound | None = None,
    sampling: Sampling | None = None,
) -> list[Episode]:
    """Run every member on every task and score the episodes.

    members: () runs the unperturbed agent alone.
    member_ids: what `Episode.member` says for each member; its position by default.
    on_round: called after every round with the number of finished episodes and their total.
    sampling: None runs every task once, decoded as the agent asks (greedily, for those that ship).

    Returns len(members) * len(tasks) episodes, all tasks of the first member first; with `sampling` each task's samples
    follow each other. Raises ConfigError for a task id that occurs twice; errors of the backend pass through.
    """
    ids = [task.id for task in tasks]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise ConfigError(f"task: two tasks have the id {twice!r}")
    positions = range(len(members)) if members else (UNPERTURBED,)
    samples: Sequence[int | None] = range(sampling.samples) if sampling else (None,)
    runners = [
        _Runner(agent, family, task, member, sample, sampling)
        for member in positions
        for task in tasks
        for sample in samples
    ]
    at_once = len(runners) // len(positions) * (backend.together or len(positions))
    for first in range(0, len(runners), max(1, at_once)):
        waiting = [runner for runner in runners[first : first + at_once] if runner.request]
        while waiting:
            requests = [runner.request for runner in waiting if runner.request]
            completions = backend.generate(requests, members)
            if len(completions) != len(requests):
                raise RunError(f"the backend answered {len(completions)} of {len(requests)} requests")
            for runner, completion in zip(waiting, completions, strict=True):
                runner.advance(completion)
            waiting = [runner for runner in waiting if runner.request]
            if on_round:
                on_round(sum(not runner.request for runner in runners), len(runners))
    outgrown = [runner for runner in runners if runner.outgrown]
    if outgrown and not members:
        _log.warning(
            "%d of %d episodes of the unperturbed agent outgrew the model's context and earn 0; the first: %s",
            len(outgrown),
            len(runners),
            next(iter(outgrown[0].outgrown.values())),
        )
    names = list(member_ids) if member_ids is not None and members else list(positions)
    by_position = dict(zip(positions, names, strict=True))
    return [Episode(r.task, by_position[r.member], r.trajectory, r.score(family), r.sample) for r in runners]


def reward_matrix(
    episodes: Sequence[Episode], members: Sequence[Perturbation], tasks: Sequence[Task]
) -> tuple[NDArray[np.float64], list[str]]:
    """Rewards [M, T] of the episodes of one `rollout` of M members, and the ids of the tasks dropped from its columns.

    A task that is unscored for one member is dropped for all, so that members are compared on the same tasks. M is 1
    for the unperturbed agent (no members). Raises UnscoredError when more than `MAX_UNSCORED` of the episodes are
    unscored.
    """
    dropped = unscored_tasks(episodes)
    rewards = np.array([episode.score.reward for episode in episodes], dtype=np.float64)
    rewards = rewards.reshape(max(len(members), 1), len(tasks))
    kept = [column for column, task in enumerate(tasks) if task.id not in dropped]
    return rewards[:, kept], [task.id for task in tasks if task.id in dropped]


def unscored_tasks(episodes: Sequence[Episode]) -> set[str]:
    """Ids of the tasks with an unscored episode. Raises UnscoredError when more than `MAX_UNSCORED` episodes are."""
    unscored = [episode for episode in episodes if episode.score.unscored]
    if len(unscored) > MAX_UNSCORED * len(episodes):
        raise UnscoredError(len(unscored) / len(episodes), unscored[0].score.reason)
    return {episode.task.id for episode in unscored}


class _Runner:
    """One episode: its coroutine, the request it waits for (None when it is over) and what came of it."""

    def __init__(
        self,
        agent: Agent,
        family: TaskFamily,
        task: Task,
        member: int,
        sample: int | None,
        sampling: Sampling | None,
    ) -> None:
        self.task = task
        self.member = member
        self.sample = sample
        self._sampling = sampling
        self._modules = tuple(agent.modules)
        self.request: Request | None = None
        self.trajectory = Trajectory((), "")
        self.failure = ""
        self.nonfinite: list[str] = []
        self.outgrown: dict[str, str] = {}
        self._asked = 0
        try:
            self._run = agent.run(task, family.env(task))
        except (EsagentError, Told):
            raise
        except (Exception, SystemExit) as error:
            self.failure = _describe("starting the episode", error)
            return
        self._step(None)

    def advance(self, completion: Completion) -> None:
        """Hand the coroutine the answer to its request."""
        if completion.stop_reason == "nonfinite" and self.request:
            self.nonfinite.append(self.request.module)
        if completion.stop_reason == "context" and self.request:
            reason = f"module {self.request.module}: {completion.note}"
            if self._asked == 1:
                self.request, self.failure = None, reason
                return
            self.outgrown.setdefault(self.request.module, reason)
        self._step(completion)

    def score(self, family: TaskFamily) -> Score:
        """The score of the finished episode."""
        if self.failure:
            return Score(0.0, reason=self.failure, unscored=True)
        if self.nonfinite:
            return Score(0.0, dict.fromkeys(self.nonfinite, 0.0), reason="nonfinite")
        if self.outgrown:
            return Score(0.0, dict.fromkeys(self.outgrown, 0.0), reason=next(iter(self.outgrown.values())))
        try:
            return _plain_score(family.score(self.task, self.trajectory))
        except (EsagentError, Told):
            raise
        except (Exception, SystemExit) as error:
            reason = _describe("scoring", error)
        return Score(0.0, reason=reason, unscored=True)

    def _step(self, completion: Completion | None) -> None:
        self.request = None
        try:
            request = next(self._run) if completion is None else self._run.send(completion)
        except StopIteration as end:
            self._finish(end.value)
        except (EsagentError, Told):
            raise
        except (Exception, SystemExit) as error:
            self.failure = _describe("the agent", error)
        else:
            self._asked += 1
            self.failure = _flaw(request, self._modules)
            if self._asked > MAX_REQUESTS:
                self.failure = f"the agent asked more than {MAX_REQUESTS} times"
            if not self.failure:
                self.request = replace(request, member=self.member)
                if self._sampling and self.sample is not None:
                    self.request = self._sampling.decode(self.request, self.task, self.sample, self._asked)

    def _finish(self, trajectory: object) -> None:
        if not isinstance(trajectory, Trajectory):
            self.failure = f"the agent returned {type(trajectory).__name__}, not a Trajectory"
        elif not isinstance(trajectory.answer, str):
            self.failure = f"the agent returned an answer that is a {type(trajectory.answer).__name__}, not a text"
        elif not all(isinstance(turn, Turn) for turn in trajectory.turns):
            self.failure = "the agent returned turns that are not all of type Turn"
        else:
            self.trajectory = trajectory


def _flaw(request: object, modules: Sequence[str]) -> str:
    """What keeps a request from being answered; "" when nothing does."""
    if not isinstance(request, Request):
        return f"the agent yielded {type(request).__name__}, not a Request"
    if request.module not in modules:
        return f"the agent asked module {request.module!r}, which is not one of its modules"
    if not (isinstance(request.prompt, str) and isinstance(request.prefix, str)):
        return "the agent yielded a Request whose prompt or prefix is not a text"
    if not isinstance(request.max_new_tokens, int) or request.max_new_tokens < 1:
        return f"the agent yielded a Request with max_new_tokens={request.max_new_tokens}"
    if not (np.isfinite(request.temperature) and request.temperature >= 0):
        return f"the agent yielded a Request with temperature={request.temperature}"
    return ""


def _plain_score(score: Score) -> Score:
    """`score` in plain numbers. Raises TypeError or ValueError when it is none, or not finite."""
    if not isinstance(score, Score):
        raise TypeError(f"it gave {type(score).__name__}, not a Score")
    if score.unscored:
        return Score(0.0, reason=str(score.reason), unscored=True)
    reward = float(score.reward)
    signals = {str(module): float(value) for module, value in score.signals.items()}
    for name, value in (("reward", reward), *signals.items()):
        if not np.isfinite(value):
            raise ValueError(f"the {name if name == 'reward' else f'signal of {name}'} is {value}")
    return Score(reward, signals, str(score.reason), bool(score.success))


def _describe(where: str, error: BaseException) -> str:
    """One line, at most 200 characters."""
    return f"{where}: {type(error).__name__}: {' '.join(str(error).split())}"[:200]
