"""What `sigma=auto` runs before the first step.

A search has some tries, in each of which the members are asked what the centre was, and at least one round of episodes.
A try costs about what a step on as many tasks does: members share most of its prompts, and few texts are new. Where
every module has a block to itself, what members of all of them change is the mean of what was found for each, so the
factor for them is right at the first try.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from esagent.config.schema import Config, Objective, Per
from esagent.workload import modules

TRIES = 5
"""Of a search, in the mean over shares that grow smoothly with sigma."""


@dataclass(frozen=True)
class Search:
    """One search: `members` on the tasks of `config`, a step of which is one of its rounds. tries: without episodes."""

    config: Config
    members: int
    tries: int = TRIES

    @property
    def tasks(self) -> int:
        """Of a round."""
        return self.config.budget.tasks_per_step

    @property
    def episodes(self) -> int:
        """Of members and centre, where outputs are valid at once."""
        return self.tasks * (1 + self.members)

    def asked(self, searched: tuple[str, ...]) -> float:
        """Requests of all tries: each member is asked those of the centre's that it acts in. searched: modules."""
        each = sum(module.calls * module.own for module in modules(self.config, searched, self.members))
        return self.tries * self.tasks * each


def searches(config: Config, blocks: int) -> tuple[Search, ...]:
    """The searches that `config` asks for: of all blocks side by side, and of one factor for members of several."""
    sigma = config.sigma
    if not sigma.auto:
        return ()
    budget = replace(config.budget, tasks_per_step=sigma.tasks)
    config = replace(config, budget=budget, objective=Objective.reward)
    together = Search(config, 2 * max(sigma.probes, blocks))
    if sigma.per is Per.all:
        return (together,)
    alone = Search(replace(config, allocation=replace(config.allocation, name="uniform")), 2 * sigma.probes * blocks)
    if config.allocation.name != "joint" or blocks == 1:
        return (alone,)
    return alone, replace(together, tries=1 if config.space.partition == "module" else TRIES)
