"""Asks every module about the task, one after the other: the agent of the synthetic environment (docs/synthetic.md).

It knows nothing of right and wrong: what a module wrote is judged by the task family.
"""

from __future__ import annotations

from collections.abc import Sequence

from esagent.agents.base import Run
from esagent.agents.modular.agent import MODULES
from esagent.core.episode import Request, Task, Trajectory, Turn
from esagent.tasks.base import Environment


class ChainAgent:
    """One request per module, in the order of the chain. Tools are not used."""

    def __init__(self, modules: Sequence[str] = MODULES) -> None:
        self.modules: tuple[str, ...] = tuple(modules)

    def run(self, task: Task, env: Environment) -> Run:
        """One episode: a turn for every module. The answer is what the last one wrote."""
        turns: list[Turn] = []
        for module in self.modules:
            completion = yield Request(module, task.prompt, max_new_tokens=1)
            turns.append(Turn(module, task.prompt, completion))
        return Trajectory(tuple(turns), turns[-1].completion.text)
