"""Questions about a fictional universe, answered by searching its encyclopedia: one to three searches each.

Splits share no sentence of questions or articles, no name, year or word of a fact, and no pair of relations that follow
each other; what two splits share are the relations. Each split has a universe of its own, made from `universe`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from esagent.core.episode import Score, Task, Trajectory
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError
from esagent.tasks.about import About
from esagent.tasks.base import Split
from esagent.tasks.grading import read_weights
from esagent.tasks.qa.build import build, search_tools, walk
from esagent.tasks.qa.environment import SPLITS, SearchEnvironment, split_of
from esagent.tasks.qa.junk import junk_trajectories
from esagent.tasks.qa.relations import RELATIONS, Chain, chains
from esagent.tasks.qa.score import score_episode
from esagent.tasks.qa.world import World, make_world
from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.episodes import gold_trajectory
from esagent.tools.base import Tool

_MANY = 2000
"""Draws by the level's shares; what is left of a split comes after them."""


@dataclass(frozen=True)
class Level:
    """hops: probability of 1, 2 and 3 searches. inverse: whether relations are also asked backwards."""

    hops: tuple[float, float, float]
    inverse: bool


LEVELS: dict[str, Level] = {
    "easy": Level((0.8, 0.2, 0.0), inverse=False),
    "medium": Level((0.4, 0.6, 0.0), inverse=True),
    "hard": Level((0.1, 0.4, 0.5), inverse=True),
}


class QaFamily:
    """level: easy (mostly 1 search), medium (1-2, also backwards) or hard (1-3).

    weights: shares of the reward for plan, tools, arguments and answer; see grading.py. universe: another one has other
    things and facts, in the same sentences. sections: one search tool for each section of the encyclopedia, which the
    selector has to choose from; False: one for all articles. Raises ConfigError.
    """

    name = "qa"
    about = About(
        summary="questions about a fictional universe, one to three searches of its encyclopedia each",
        source="generated from a seed",
        licence="MIT, as esagent",
        levels=tuple(LEVELS),
        splits={"train": "1,648 to 2,140", "validation": "1,260 to 1,684", "heldout": "1,560 to 2,065"},
    )

    def __init__(
        self,
        level: str = "easy",
        weights: Mapping[str, float] | None = None,
        universe: int = 0,
        sections: bool = True,
    ) -> None:
        if level not in LEVELS:
            raise ConfigError(f"task.level: there is no level {level!r}; there are {', '.join(LEVELS)}")
        if not isinstance(universe, int) or isinstance(universe, bool):
            raise ConfigError(f"task.options.universe: a whole number is needed, not {universe!r}")
        if not isinstance(sections, bool):
            raise ConfigError(f"task.options.sections: true or false is needed, not {sections!r}")
        self.level = level
        self.weights = read_weights(weights or {})
        self.universe = universe
        self.sections = sections

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` tasks of (split, seed), no two about the same. Raises ConfigError when the split has fewer."""
        found: dict[tuple[Chain, str], Task] = {}
        for chain, start, draw, task_id in self._draws(split, seed):
            if len(found) == n:
                break
            task = None if (chain, start) in found else self._build(chain, start, draw, task_id)
            if task is not None:
                found[chain, start] = task
        if len(found) < n:
            raise ConfigError(f"task: qa/{self.level} has {len(found)} {split} tasks, {n} were asked for")
        return list(found.values())

    def env(self, task: Task) -> SearchEnvironment:
        """The search tools of the task's universe."""
        return SearchEnvironment(_tools(self.universe, split_of(task), self.sections))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Graded reward in [0, 1] with signals for planner, selector, caller and synthesizer; see score.py."""
        return score_episode(task, trajectory, self._world(split_of(task)), self.weights)

    def gold(self, task: Task) -> Trajectory:
        """The fully right episode of a modular agent, its searches really run."""
        return gold_trajectory(task, self.env(task))

    def validate(self) -> list[str]:
        """Every chain of relations of every level and split: gold scores 1, empty and junk episodes exactly 0."""
        weights = dataclasses.asdict(self.weights)
        return [
            problem
            for level in LEVELS
            for problem in QaFamily(level, weights, self.universe, self.sections)._problems()
        ]

    def _world(self, split: Split) -> World:
        return make_world(self.universe, split)

    def _draws(self, split: Split, seed: int) -> Iterator[tuple[Chain, str, Draw, str]]:
        """Hops by the level's shares, then every chain alike, then every thing that it can start from alike.

        After `_MANY` draws all that can be asked follows in a drawn order.
        """
        one, two, _ = LEVELS[self.level].hops
        for at in range(_MANY):
            draw = self._draw(split, seed, at)
            share = draw.unit()
            hops = 1 if share < one else 2 if share < one + two else 3
            chain = draw.pick(self._chains(split, hops))
            start = draw.pick(self._world(split).names(RELATIONS[chain[0]].takes))
            yield chain, start, draw, f"qa-{self.level}-{split}-{seed}-{at}"
        rest = self._walkable(split)
        for at, i in enumerate(permutation(key("qa", "rest", split, seed), len(rest)), start=_MANY):
            yield *rest[i], self._draw(split, seed, at), f"qa-{self.level}-{split}-{seed}-{at}"

    def _draw(self, split: Split, seed: int, at: int) -> Draw:
        return Draw(key("qa", self.level, self.universe, split, seed, at), split)

    def _chains(self, split: Split, hops: int) -> tuple[Chain, ...]:
        # In a search of all articles the name alone does not find what is asked backwards.
        return chains(split, hops, inverse=LEVELS[self.level].inverse and self.sections)

    def _walkable(self, split: Split) -> tuple[tuple[Chain, str], ...]:
        """All that can be asked: every chain from every thing from which it leads somewhere."""
        world, hops = self._world(split), enumerate(LEVELS[self.level].hops, start=1)
        return tuple(
            (chain, start)
            for count, share in hops
            if share
            for chain in self._chains(split, count)
            for start in world.names(RELATIONS[chain[0]].takes)
            if walk(world, chain, start, sections=self.sections)
        )

    def _build(self, chain: Chain, start: str, draw: Draw, task_id: str) -> Task | None:
        found = walk(self._world(draw.split), chain, start, sections=self.sections)
        tools = _tools(self.universe, draw.split, self.sections)
        return build(chain, start, found, draw, task_id, tools) if found else None

    def _problems(self) -> Iterator[str]:
        for split in SPLITS:
            for hops, share in enumerate(LEVELS[self.level].hops, start=1):
                for chain in self._chains(split, hops) if share else ():
                    yield from self._problems_of(chain, split)

    def _problems_of(self, chain: Chain, split: Split) -> Iterator[str]:
        where = f"qa/{self.level}/{split}/{'+'.join(chain)}"
        draw = Draw(key("qa", "validate", split, *chain), split)
        starts = self._world(split).names(RELATIONS[chain[0]].takes)
        task = next((task for start in starts if (task := self._build(chain, start, draw, where))), None)
        if task is None:
            yield f"{where}: no question follows this chain"
            return
        best = self.score(task, self.gold(task))
        if best.reward != 1.0 or not best.success:
            yield f"{where}: gold scores {best.reward} ({best.reason})"
        for name, junk in junk_trajectories(task, self.env(task)).items():
            reward = self.score(task, junk).reward
            if reward != 0.0:
                yield f"{where}: the {name} episode scores {reward}"


@functools.cache
def _tools(universe: int, split: Split, sections: bool) -> dict[str, Tool]:
    return search_tools(make_world(universe, split), sections=sections)
