"""The bfcl family: questions with functions to call, and conversations over simulated APIs (docs/tasks-bfcl.md)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from esagent.config.nearest import suggest
from esagent.core.episode import Score, Task, Trajectory
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.tasks.about import About
from esagent.tasks.base import Split
from esagent.tasks.bfcl.dialogue_score import score_dialogue
from esagent.tasks.bfcl.dialogues import DIALOGUES, dialogue_rows, function_owners
from esagent.tasks.bfcl.environments import DialogueEnvironment, QuestionEnvironment
from esagent.tasks.bfcl.episodes import gold_trajectory, junk_trajectories
from esagent.tasks.bfcl.package import data_folder
from esagent.tasks.bfcl.question_score import score_question
from esagent.tasks.bfcl.rows import QUESTIONS, Row, question_rows
from esagent.tasks.bfcl.splits import split_questions

SPLITS: tuple[Split, ...] = get_args(Split)
CATEGORIES = (*QUESTIONS, *DIALOGUES)


def _missing() -> str:
    try:
        data_folder()
    except EnvironmentFailure as error:
        return str(error)
    return ""


class BfclFamily:
    """categories: which ones to draw from, of `CATEGORIES`; the single questions by default.

    A row is in the same split whatever the categories. Raises ConfigError for a category there is none of, and
    EnvironmentFailure when the `bfcl-eval` package is not installed.
    """

    name = "bfcl"
    about = About(
        summary="questions with functions to call, and conversations over simulated APIs",
        source="Berkeley Function Calling Leaderboard 4, package bfcl-eval",
        licence="Apache-2.0",
        splits={"train": "559 questions, 188 conversations", "validation": "204, 125", "heldout": "473, 272"},
        missing=_missing,
    )

    def __init__(self, categories: Sequence[str] = tuple(QUESTIONS)) -> None:
        if isinstance(categories, str) or not isinstance(categories, Sequence) or not categories:
            raise ConfigError(f"task.options.categories: a list of categories is needed, not {categories!r}")
        unknown = [str(name) for name in categories if name not in CATEGORIES]
        if unknown:
            problem = f"task.options.categories: there is no category {unknown[0]!r}"
            raise ConfigError(f"{problem}; {suggest(unknown[0], CATEGORIES)}")
        self.categories = tuple(name for name in CATEGORIES if name in categories)
        self._rows: dict[Split, list[Task]] = {split: [] for split in SPLITS}
        for split in SPLITS:
            questions = [row for row in _questions()[split] if row.category in self.categories]
            talks = [row for name in DIALOGUES if name in self.categories for row in dialogue_rows(name, split)]
            self._rows[split] = [_task(row, split) for row in (*questions, *talks)]

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` rows of a split, in an order drawn from `seed`. Raises ConfigError when it has fewer."""
        rows = self._rows[split]
        if n > len(rows):
            setting = "task.pool" if split == "train" else f"task.{split}"
            raise ConfigError(
                f"bfcl: there are {len(rows)} {split} tasks in {', '.join(self.categories)}, {n} were asked for; "
                f"ask for fewer ({setting}) or choose more of task.options.categories"
            )
        return [rows[i] for i in permutation(key("bfcl", split, seed), len(rows))[:n]]

    def env(self, task: Task) -> QuestionEnvironment | DialogueEnvironment:
        """Functions that take well-formed calls, or, for a conversation, simulated APIs in their first state."""
        return DialogueEnvironment(task.payload) if "messages" in task.payload else QuestionEnvironment(task.tools)

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Graded reward in [0, 1] with signals per module; see question_score.py and dialogue_score.py."""
        return (score_dialogue if "messages" in task.payload else score_question)(task, trajectory)

    def gold(self, task: Task) -> Trajectory:
        """The fully right episode of a modular agent, its calls really executed."""
        return gold_trajectory(task, self.env(task))

    def validate(self) -> list[str]:
        """Every row of the categories: gold scores 1, empty and junk episodes exactly 0."""
        return [problem for rows in self._rows.values() for task in rows for problem in self._check(task)]

    def _check(self, task: Task) -> Iterator[str]:
        best = self.score(task, self.gold(task))
        if best.reward != 1.0 or not best.success or min(best.signals.values()) < 1:
            yield f"{task.id}: gold scores {best.reward} ({best.reason}), signals {dict(best.signals)}"
        for name, junk in junk_trajectories(task, self.env(task)).items():
            reward = self.score(task, junk).reward
            if reward != 0.0:
                yield f"{task.id}: the {name} episode scores {reward}"


@functools.cache
def _questions() -> Mapping[Split, Sequence[Row]]:
    """All rows of single questions by split."""
    rows = [row for category in QUESTIONS for row in question_rows(category)]
    return split_questions(rows, function_owners())


def _task(row: Row, split: Split) -> Task:
    return Task(f"bfcl-{row.id}", BfclFamily.name, split, row.texts[0], row.tools, row.payload)
