"""Interventions: an agent one of whose modules behaves like gold, to see how much it holds the others back.

The k-th time that the module is asked in an episode it gives the k-th gold output that the family has for it, whatever
the others did; when that is used up, the model answers. What the agent gains so is causal, where credit only says
which mistake came first: a later module may fail as often once the earlier one is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esagent.agents.base import Agent, Run, Writer
from esagent.backends.base import Backend
from esagent.core.episode import Completion, Episode, Task
from esagent.credit.agreement import bottleneck
from esagent.gold import Purpose, require_gold
from esagent.rollout import OnRound, rollout, unscored_tasks
from esagent.stats.intervals import paired_gain
from esagent.tasks.base import Environment, TaskFamily

INTERVENTION = Purpose("an intervention", "choose a family and an agent that fit")


class WithGold:
    """`agent` with the outputs of `module` from the gold of `family`."""

    def __init__(self, agent: Agent, family: TaskFamily, module: str) -> None:
        self.modules = agent.modules
        self._agent, self._family, self._module = agent, family, module

    def run(self, task: Task, env: Environment) -> Run:
        """One episode; requests to the module never leave it while there is gold."""
        agent = self._agent
        turns = [turn for turn in self._family.gold(task).turns if turn.module == self._module]
        gold = iter([agent.written(turn) if isinstance(agent, Writer) else turn.completion.text for turn in turns])
        run, answer = agent.run(task, env), None
        while True:
            try:
                request = next(run) if answer is None else run.send(answer)
            except StopIteration as end:
                return end.value
            text = next(gold, None) if request.module == self._module else None
            answer = (yield request) if text is None else Completion(text)


@dataclass(frozen=True)
class Interventions:
    """gains: by module, (mean, low, high) of the reward gained per task, with a 95% interval over tasks.

    bottleneck: the module that gains the most, None when none gains anything. base: mean reward as the agent is. n: how
    many tasks were scored every time.
    """

    n: int
    base: float
    gains: Mapping[str, tuple[float, float, float]]
    bottleneck: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        gains = {name: {"mean": mean, "interval": [low, high]} for name, (mean, low, high) in self.gains.items()}
        return {"n": self.n, "base": self.base, "gains": gains, "bottleneck": self.bottleneck}


def require_interventions(agent: Agent, family: TaskFamily, tasks: Sequence[Task]) -> None:
    """Raise ConfigError, one line, where a task has no gold episode."""
    require_gold(agent, family, tasks, INTERVENTION)


def intervene(
    agent: Agent, family: TaskFamily, backend: Backend, tasks: Sequence[Task], on_round: OnRound | None = None
) -> Interventions:
    """Run the unperturbed agent as it is and with each module replaced in turn, greedily, on `tasks`.

    Costs M + 1 rollouts of M modules. Tasks that were not scored every time are left out. Raises UnscoredError when
    more than a tenth was not.
    """
    found = {
        name: rollout(made, family, backend, (), tasks, on_round=on_round)
        for name, made in {"": agent, **{name: WithGold(agent, family, name) for name in agent.modules}}.items()
    }
    dropped = {task for episodes in found.values() for task in unscored_tasks(episodes)}
    kept = [task.id for task in tasks if task.id not in dropped]
    rewards = {name: _rewards(episodes, kept) for name, episodes in found.items()}
    gains = {name: paired_gain(rewards[""], rewards[name], kept) for name in agent.modules}
    base = sum(rewards[""]) / len(kept)
    return Interventions(len(kept), base, gains, bottleneck({name: gain[0] for name, gain in gains.items()}))


def _rewards(episodes: Sequence[Episode], tasks: Sequence[str]) -> list[float]:
    by_task = {episode.task.id: episode.score.reward for episode in episodes}
    return [by_task[task] for task in tasks]
