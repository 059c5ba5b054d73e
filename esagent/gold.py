"""Gold episodes: an agent led through a task by the gold output of every module, its tool calls really executed.

What an agent asks along the way depends on nothing that is searched, so the requests and what should be answered to
them are the same for all members: targets of the log-likelihood objective.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from esagent.agents.base import Agent, Writer
from esagent.core.episode import Completion, Request, Task, Trajectory, Turn
from esagent.errors import ConfigError, EsagentError
from esagent.tasks.base import TaskFamily


@dataclass(frozen=True)
class Purpose:
    """What gold is needed for, and what to do where there is none, as an error says it."""

    name: str
    advice: str


LIKELIHOOD = Purpose("objective=likelihood", "choose objective=reward, or a family and an agent that fit")


@dataclass(frozen=True)
class Gold:
    """The gold episode of `task`: every request in order, the text to answer it with, and what the agent made of it."""

    task: Task
    requests: tuple[Request, ...]
    texts: tuple[str, ...]
    trajectory: Trajectory


def gold_episode(agent: Agent, family: TaskFamily, task: Task, purpose: Purpose = LIKELIHOOD) -> Gold:
    """Run `agent` on `task` with the outputs of `family.gold(task)` for completions.

    Raises ConfigError, one line, where the family has no output for what the agent asks, or one that it does not ask
    for.
    """
    try:
        return _led(agent, family, task, family.gold(task).turns)
    except _NoGoldError as error:
        raise ConfigError(_why(purpose, family, str(error))) from error
    except EsagentError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(_why(purpose, family, f"task {task.id}: {type(error).__name__}: {reason}")) from error


def require_gold(agent: Agent, family: TaskFamily, tasks: Sequence[Task], purpose: Purpose = LIKELIHOOD) -> None:
    """Raise ConfigError, one line, for the first of `tasks` that has no gold episode."""
    for task in tasks:
        gold_episode(agent, family, task, purpose)


class _NoGoldError(Exception):
    """Gold and agent do not fit."""


def _led(agent: Agent, family: TaskFamily, task: Task, turns: Sequence[Turn]) -> Gold:
    requests: list[Request] = []
    texts: list[str] = []
    run = agent.run(task, family.env(task))
    left: Iterator[Turn] = iter(turns)
    answer: Completion | None = None
    while True:
        try:
            request = next(run) if answer is None else run.send(answer)
        except StopIteration as end:
            if next(left, None) is not None or not isinstance(end.value, Trajectory) or not texts:
                raise _NoGoldError(f"the agent is through task {task.id} after {len(texts)} of its outputs") from end
            return Gold(task, tuple(requests), tuple(texts), end.value)
        turn = next(left, None)
        if turn is None or turn.module != request.module:
            there = "nothing more" if turn is None else f"one of {turn.module}"
            raise _NoGoldError(f"task {task.id} has {there} where the agent asks its {request.module}")
        if not turn.completion.text.strip():
            raise _NoGoldError(f"that of {turn.module} in task {task.id} is empty")
        requests.append(request)
        texts.append(agent.written(turn) if isinstance(agent, Writer) else turn.completion.text)
        answer = Completion(texts[-1])


def _why(purpose: Purpose, family: TaskFamily, why: str) -> str:
    return f"{purpose.name}: {family.name} has no gold outputs for this agent: {why}; {purpose.advice}"
