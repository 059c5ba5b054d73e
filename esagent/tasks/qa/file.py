"""Questions of published data sets from a file, with the paragraphs that the rows bring along as what is searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from esagent.config.files import user_path
from esagent.core.episode import Completion, Score, Task, Trajectory, Turn
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError
from esagent.tasks.base import Split
from esagent.tasks.grading import hops_of, planned
from esagent.tasks.qa.answers import exact_match, f1
from esagent.tasks.qa.environment import MAX_SEARCHES, SPLITS, SearchEnvironment, split_of
from esagent.tasks.qa.rows import Row, read_rows
from esagent.tasks.qa.world import EVERYTHING
from esagent.tasks.toolbox.episodes import gold_trajectory
from esagent.tools.base import Tool
from esagent.tools.search import Document, SearchIndex, make_search

SCORERS = {"f1": f1, "em": exact_match}
SHARES = (0.4, 0.15, 0.45)
"""Of train, validation and heldout where rows do not say to which they belong: a hash of the question decides."""


class QaFileFamily:
    """path: JSON lines in one of the shapes of rows.py. scorer: what an answer earns, f1 or em (exact match).

    A split searches the paragraphs of its own rows alone. Where rows bring none, there is no tool and the question is
    answered from memory. Raises ConfigError for a file that cannot be read, naming its bad lines.
    """

    name = "qa"

    def __init__(self, path: str | Path, scorer: str = "f1") -> None:
        if scorer not in SCORERS:
            raise ConfigError(f"task.scorer: there is no scorer {scorer!r} of answers; there are {', '.join(SCORERS)}")
        self.path = user_path(path)
        self.scorer = scorer
        self._rows: dict[Split, list[Row]] = {split: [] for split in SPLITS}
        for row in read_rows(self.path):
            self._rows[row.split or _split_of(row.question)].append(row)
        self._found: dict[Split, SearchIndex | None] = {}

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` rows of a split, in an order drawn from `seed`. Raises ConfigError when it has fewer."""
        rows = self._rows[split]
        if n > len(rows):
            total = sum(map(len, self._rows.values()))
            raise ConfigError(
                f"{self.path}: {len(rows)} of its {total} rows are {split}, {n} were asked for; ask for fewer "
                f"({'task.pool' if split == 'train' else f'task.{split}'}) or add rows"
            )
        return [self._task(rows[i], split) for i in permutation(key("qa", "rows", split, seed), len(rows))[:n]]

    def env(self, task: Task) -> SearchEnvironment:
        """The search over the paragraphs of the task's split; no tool where there are none."""
        return SearchEnvironment(self._tools(split_of(task)))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """F1 or exact match of the answer with the nearest right one.

        selector: share of its choices that are a tool. caller: share of the supporting paragraphs that it found.
        synthesizer: what its answer earns, once all of them are found. What a plan is worth cannot be verified.
        """
        answer = trajectory.answer
        reward = SCORERS[self.scorer](answer, task.payload["answers"])
        modules = {turn.module for turn in trajectory.turns}
        signals: dict[str, float] = {}
        if planned(trajectory):
            wanted, found = task.payload["documents"], self._brought(task, trajectory)
            hops = hops_of(trajectory, [tool.name for tool in task.tools])
            if hops:
                signals["selector"] = sum(hop.chosen == EVERYTHING for hop in hops) / len(hops)
            if wanted:
                signals["caller"] = len(found & set(wanted)) / len(wanted)
            if set(wanted) <= found:
                signals["synthesizer"] = reward
            signals = {name: signal for name, signal in signals.items() if name in modules}
        else:
            signals = dict.fromkeys(sorted(modules), reward)
        failing = next((name for name, signal in signals.items() if signal < 1), "")
        wrong = failing or ("wrong answer" if answer.strip() else "no answer")
        return Score(reward, signals, "" if reward == 1 else wrong, reward == 1)

    def gold(self, task: Task) -> Trajectory:
        """Searches for the supporting paragraphs, really run, and the first of the right answers."""
        trajectory = gold_trajectory(task, self.env(task))
        if task.tools:
            return trajectory
        return Trajectory((Turn("synthesizer", task.prompt, Completion(trajectory.answer)),), trajectory.answer)

    def validate(self) -> list[str]:
        """Whether every gold answer earns 1, an empty answer and junk 0, and a copy of the question less than 1."""
        problems = []
        for split in SPLITS:
            for task in self.tasks(split, 0, len(self._rows[split])):
                texts = {"gold": self.gold(task).answer, "empty": "", "junk": "blah blah", "copied": task.prompt}
                rewards = {name: self.score(task, Trajectory((), text)).reward for name, text in texts.items()}
                if rewards["gold"] != 1 or rewards["empty"] or rewards["junk"] or rewards["copied"] == 1:
                    problems.append(f"{task.id}: rewards {rewards}")
        return problems

    def _task(self, row: Row, split: Split) -> Task:
        calls = self._calls(row, split)
        payload: dict[str, Any] = {
            "plan": [row.question],
            "calls": [{key: call[key] for key in ("name", "resolved", "result")} for call in calls],
            "documents": [call["title"] for call in calls],
            "answers": list(row.answers),
            "answer": row.answers[0],
        }
        specs = tuple(tool.spec for tool in self._tools(split).values())
        return Task(f"{self.path.stem}:{row.line}", self.name, split, row.question, specs, payload)

    def _calls(self, row: Row, split: Split) -> list[Mapping[str, Any]]:
        """A search that finds it for every supporting paragraph, as many as an episode has searches."""
        index = self._index(split)
        found: list[Mapping[str, Any]] = []
        for title in row.supporting if index else ():
            for query in (title, f"{title} {row.question}"):
                best = index.find(query) if index else []
                if best and best[0].title == title and len(query) <= 300:
                    result = self._tools(split)[EVERYTHING].run({"query": query}).output
                    found.append({"name": EVERYTHING, "resolved": {"query": query}, "result": result, "title": title})
                    break
        return found[:MAX_SEARCHES]

    def _brought(self, task: Task, trajectory: Trajectory) -> set[str]:
        """Titles of the paragraphs that the searches of an episode brought up."""
        index = self._index(split_of(task))
        found = set()
        for turn in trajectory.turns:
            if index and turn.call and not turn.call.error and turn.result and turn.result.ok:
                found |= {document.title for document in index.find(str(turn.call.arguments.get("query", "")))}
        return found

    def _index(self, split: Split) -> SearchIndex | None:
        if split not in self._found:
            documents: list[Document] = list(dict.fromkeys(p for row in self._rows[split] for p in row.paragraphs))
            self._found[split] = SearchIndex(documents) if documents else None
        return self._found[split]

    def _tools(self, split: Split) -> dict[str, Tool]:
        index = self._index(split)
        return {EVERYTHING: make_search(EVERYTHING, "Search all articles.", index)} if index else {}


def _split_of(question: str) -> Split:
    place, (train, validation, _) = key("qa", "rows", question) / 2**64, SHARES
    return "train" if place < train else "validation" if place < train + validation else "heldout"
