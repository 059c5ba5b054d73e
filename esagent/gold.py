"""Gold episodes: an agent led through a task by the gold output of every module, its tool calls really executed.

What an agent asks along the way depends on nothing that is searched, so the requests and what should be answered to
them are the same for all members: targets of the log-likelihood objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from esagent.agents.base import Agent, Writer
from esagent.core.episode import Completion, Request, Task, Trajectory, Turn
from esagent.errors import ConfigError, EsagentError
from esagent.tasks.base import TaskFamily

ADVICE = "choose objective=reward, or a family and an agent that fit"


@dataclass(frozen=True)
class Gold:
    """The gold episode of `task`: every request in order, the text to answer it with, and what the agent made of it."""

    task: Task
    requests: tuple[Request, ...]
    texts: tuple[str, ...]
    trajectory: Trajectory


def gold_episode(agent: Agent, family: TaskFamily, task: Task) -> Gold:
    """Run `agent` on `task` with the outputs of `family.gold(task)` for completions.

    Raises ConfigError, one line, where the family has no output for what the agent asks, or one that it does not ask
    for.
    """
    try:
        turns = family.gold(task).turns
        return _led(agent, family, task, turns)
    except EsagentError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise _none(family, f"task {task.id}: {type(error).__name__}: {reason}") from error


def require_gold(
    agent: Agent, family: TaskFamily, tasks: Sequence[Task], overflow: Callable[[Request, str], str]
) -> None:
    """Raise ConfigError, one line, for the first of `tasks` that has no gold episode, or one that does not fit.

    overflow: see `Backend`.
    """
    for task in tasks:
        gold = gold_episode(agent, family, task)
        for request, text in zip(gold.requests, gold.texts, strict=True):
            if beyond := overflow(request, text):
                raise ConfigError(f"objective=likelihood: task {task.id}, module {request.module}: {beyond}")


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
                raise _none(family, f"the agent is through task {task.id} after {len(texts)} of its outputs") from end
            return Gold(task, tuple(requests), tuple(texts), end.value)
        turn = next(left, None)
        if turn is None or turn.module != request.module:
            there = "nothing more" if turn is None else f"one of {turn.module}"
            raise _none(family, f"task {task.id} has {there} where the agent asks its {request.module}")
        if not turn.completion.text.strip():
            raise _none(family, f"that of {turn.module} in task {task.id} is empty")
        requests.append(request)
        texts.append(agent.written(turn) if isinstance(agent, Writer) else turn.completion.text)
        answer = Completion(texts[-1])


def _none(family: TaskFamily, why: str) -> ConfigError:
    return ConfigError(f"objective=likelihood: {family.name} has no gold outputs for this agent: {why}; {ADVICE}")
