"""A family from a JSONL file of question/answer rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from esagent.config.files import user_path
from esagent.config.target import import_target
from esagent.core.episode import Completion, Score, Task, Trajectory, Turn
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError, RunError
from esagent.tasks.about import About
from esagent.tasks.base import Split
from esagent.tasks.lines import field, read_lines
from esagent.tasks.scorers import SCORERS, Scorer, stated_number
from esagent.tools.registry import ToolEnvironment, make_tools

SPLITS: tuple[Split, ...] = get_args(Split)
_ALIASES: Mapping[str, Split] = {"test": "heldout", "val": "validation", "dev": "validation", "valid": "validation"}


class JsonlFamily:
    """Questions and answers from a file, one JSON object a line.

    path: the file. question, answer, split: keys of a row. Rows that carry a split (train, validation or heldout; test
    and dev are understood) belong there; otherwise a hash of the question decides, in the proportions `shares`, so that
    adding rows moves no other row.
    scorer: exact, number, contains, or my_module:function taking (answer, gold) and returning a number in [0, 1].
    tools: names of shipped tools that the agent is offered.

    Raises ConfigError naming every bad row by its line number, up to five.
    """

    name = "jsonl"
    about = About(
        summary="questions and answers from a file of yours",
        source="task.path=FILE",
        licence="that of the file",
        splits=dict.fromkeys(SPLITS, "as the file has"),
    )

    def __init__(
        self,
        path: str | Path,
        scorer: str = "exact",
        *,
        question: str = "question",
        answer: str = "answer",
        split: str = "split",
        shares: Sequence[float] = (0.4, 0.15, 0.45),
        tools: Sequence[str] = (),
    ) -> None:
        if not _is_shares(shares):
            raise ConfigError(f"task.options.shares: three numbers that sum to 1 are needed, not {shares!r}")
        self.path = user_path(path)
        self.scorer = scorer
        self._score = _scorer(scorer)
        self._tools = tuple(tool.spec for tool in make_tools(tools).values())
        keys = {"question": question, "answer": answer, "split": split}
        self._rows: dict[Split, list[Task]] = {name: [] for name in SPLITS}
        for line, asked, gold, named in _read(self.path, keys, scorer):
            owner = named or _split_of(asked, shares)
            task_id = f"{self.path.stem}:{line}"
            self._rows[owner].append(Task(task_id, self.name, owner, asked, self._tools, {"answer": gold}))

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` rows of a split, in an order drawn from `seed`. Raises ConfigError when it has fewer."""
        rows = self._rows[split]
        if n > len(rows):
            total = sum(map(len, self._rows.values()))
            raise ConfigError(
                f"{self.path}: {len(rows)} of its {total} rows are {split}, {n} were asked for; ask for fewer "
                f"({'task.pool' if split == 'train' else f'task.{split}'}) or add rows"
            )
        return [rows[i] for i in permutation(key("jsonl", split, seed), len(rows))[:n]]

    def env(self, task: Task) -> ToolEnvironment:
        """The tools offered; none unless they were asked for."""
        return ToolEnvironment(make_tools([tool.name for tool in task.tools]))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The scorer's verdict on the final answer, 0 for an empty one. No module can be judged by itself.

        Raises RunError when the scorer does not return a number in [0, 1].
        """
        if not trajectory.answer.strip():
            return Score(0.0, reason="no answer")
        reward = self._score(trajectory.answer, task.payload["answer"])
        if isinstance(reward, bool):
            reward = float(reward)
        if not isinstance(reward, (int, float)) or not 0 <= reward <= 1:
            raise RunError(f"scorer {self.scorer} returned {reward!r}; it must return a number in [0, 1]")
        return Score(float(reward), reason="" if reward == 1 else "wrong answer", success=reward == 1)

    def gold(self, task: Task) -> Trajectory:
        """The gold answer, given at once."""
        answer = task.payload["answer"]
        return Trajectory((Turn("synthesizer", task.prompt, Completion(answer)),), answer)

    def validate(self) -> list[str]:
        """Whether every gold answer earns 1, and an empty answer and a copy of the question earn 0."""
        problems = []
        for task in (task for rows in self._rows.values() for task in rows):
            for text, wanted in ((task.payload["answer"], 1.0), ("", 0.0), (task.prompt, 0.0)):
                reward = self.score(task, Trajectory((), text)).reward
                if reward != wanted:
                    problems.append(f"{task.id}: {text[:60]!r} scores {reward}, not {wanted}")
        return problems


def _is_shares(value: Any) -> bool:
    numbers = isinstance(value, (list, tuple)) and all(type(share) in (int, float) for share in value)
    return numbers and len(value) == len(SPLITS) and min(value) >= 0 and math.isclose(sum(value), 1.0)


def _scorer(name: str) -> Scorer:
    if name in SCORERS:
        return SCORERS[name]
    if ":" not in name:
        raise ConfigError(
            f"task.scorer: there is no scorer {name!r}; there are {', '.join(SCORERS)}, and my_module:function"
        )
    return import_target("task.scorer", name)


def _split_of(question: str, shares: Sequence[float]) -> Split:
    place = key("jsonl", question) / 2**64
    train, validation, _ = shares
    return "train" if place < train else "validation" if place < train + validation else "heldout"


def _read(path: Path, keys: Mapping[str, str], scorer: str) -> list[tuple[int, str, str, Split | None]]:
    """(line, question, answer, split or None) of every row; a row that repeats an earlier one is left out."""
    seen: dict[str, tuple[int, str, Split | None]] = {}

    def row(line: int, given: Mapping[str, Any]) -> tuple[str, str, Split | None] | None:
        asked, gold = (field(given, keys[name]) for name in ("question", "answer"))
        if scorer == "number" and stated_number(gold) is None:
            raise ValueError(f"the answer {gold[-40:]!r} does not state one number, which scorer=number needs")
        named = named_split(given.get(keys["split"]))
        first, *same = seen.setdefault(asked, (line, gold, named))
        if first != line and same != [gold, named]:
            raise ValueError(f"the question of line {first} with another answer or split")
        return (asked, gold, named) if first == line else None

    return [(line, *found) for line, found in read_lines(path, row) if found]


def named_split(value: Any) -> Split | None:
    """The split that a row names, test and dev understood; None for none. Raises ValueError for another name."""
    if value is None:
        return None
    names: Iterator[Split] = (name for name in SPLITS if _ALIASES.get(str(value), value) == name)
    split = next(names, None)
    if split is None:
        raise ValueError(f"no split {str(value)[:40]!r}; splits are {', '.join(SPLITS)}")
    return split
