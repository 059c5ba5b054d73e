"""The toolbox family: short questions that need one to three tool calls, generated from a seed without end.

Splits share no sentence, no value (numbers, dates and their years, words, names, tables, letters, pairs of units) and
no chain of tools; what two splits share are the skills. Results of calls are not partitioned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from esagent.core.episode import Score, Task, Trajectory
from esagent.core.noise import key
from esagent.errors import ConfigError
from esagent.tasks.base import Split
from esagent.tasks.grading import read_weights
from esagent.tasks.toolbox.build import build
from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.episodes import gold_trajectory, junk_trajectories
from esagent.tasks.toolbox.score import score_episode
from esagent.tasks.toolbox.templates import LEVELS, Template, templates
from esagent.tools.registry import ToolEnvironment, make_tools

SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")

_PATIENCE = 500
"""Keys in a row that give no new task before a split counts as used up."""


class ToolboxFamily:
    """level: easy (mostly 1 hop), medium (1-2 hops), hard (1-3 hops and an idle sentence).

    weights: shares of the reward for plan, tools, arguments and answer; see grading.py. Raises ConfigError for both.
    """

    name = "toolbox"

    def __init__(self, level: str = "easy", weights: Mapping[str, float] | None = None) -> None:
        if level not in LEVELS:
            raise ConfigError(f"task.level: there is no level {level!r}; there are {', '.join(LEVELS)}")
        self.level = level
        self.weights = read_weights(weights or {})

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` tasks of (split, seed), no two alike. Raises ConfigError when the split has fewer."""
        found: dict[str, Task] = {}
        misses = 0
        for task in self._stream(split, seed):
            if len(found) == n:
                break
            if task is None or task.content_hash in found:
                misses += 1
            else:
                misses = 0
                found[task.content_hash] = task
            if misses == _PATIENCE:
                raise ConfigError(f"task: toolbox/{self.level} has {len(found)} {split} tasks, {n} were asked for")
        return list(found.values())

    def env(self, task: Task) -> ToolEnvironment:
        """The tools of the task over its tables."""
        return ToolEnvironment(make_tools([tool.name for tool in task.tools], task.payload["tables"]))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Graded reward in [0, 1] with signals for planner, selector, caller and synthesizer; see grading.py."""
        return score_episode(task, trajectory, self.env(task).tools, self.weights)

    def gold(self, task: Task) -> Trajectory:
        """The fully right episode of a modular agent, its calls really executed."""
        return gold_trajectory(task, self.env(task))

    def validate(self) -> list[str]:
        """Every template of every level and split: gold scores 1, empty and junk episodes exactly 0."""
        return [
            problem for level in LEVELS for problem in ToolboxFamily(level, dataclasses.asdict(self.weights))._check()
        ]

    def _stream(self, split: Split, seed: int) -> Iterator[Task | None]:
        at = 0
        while True:
            draw = Draw(key("toolbox", self.level, split, seed, at), split)
            yield build(self._template(draw), self.level, draw, f"toolbox-{self.level}-{split}-{seed}-{at}")
            at += 1

    def _template(self, draw: Draw) -> Template:
        """Hops by the level's shares, then every chain of tools alike, then every skill of these tools alike."""
        one, two, _ = LEVELS[self.level].hops
        share = draw.unit()
        hops = 1 if share < one else 2 if share < one + two else 3
        grouped = templates(self.level, draw.split, hops)
        return draw.pick(grouped[draw.pick(list(grouped))])

    def _check(self) -> Iterator[str]:
        for split in SPLITS:
            longest = 3 if LEVELS[self.level].hops[2] else 2
            for hops in range(1, longest + 1):
                for group in templates(self.level, split, hops).values():
                    for template in group:
                        yield from self._check_template(template, split)

    def _check_template(self, template: Template, split: Split) -> Iterator[str]:
        where = f"toolbox/{self.level}/{split}/{'+'.join(template)}"
        draws = (Draw(key("toolbox", "validate", split, at), split) for at in range(_PATIENCE))
        task = next((task for draw in draws if (task := build(template, self.level, draw, where))), None)
        if task is None:
            yield f"{where}: no values fit this template"
            return
        best = self.score(task, self.gold(task))
        if best.reward != 1.0 or not best.success:
            yield f"{where}: gold scores {best.reward} ({best.reason})"
        for name, junk in junk_trajectories(task, self.env(task)).items():
            reward = self.score(task, junk).reward
            if reward != 0.0:
                yield f"{where}: the {name} episode scores {reward}"
