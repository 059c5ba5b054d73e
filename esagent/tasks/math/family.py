"""The math family: questions with one exact answer, and a Python tool to work it out with.

Levels: `procedural` (generated, no download), and `gsm8k`, `math500`, `amc`, `aime` from files or a hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from esagent.core.episode import Completion, Score, Task, ToolCall, Trajectory, Turn
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError
from esagent.tasks.about import About
from esagent.tasks.base import Split
from esagent.tasks.math.checker import Checker
from esagent.tasks.math.environment import LateSandbox, LimitedCalls, no_sandbox, python_tool
from esagent.tasks.math.exact import compare, for_algebra
from esagent.tasks.math.generators import GENERATORS, Generator
from esagent.tasks.math.reading import read_answer
from esagent.tasks.math.reward import REWARDS, parts, scored
from esagent.tasks.math.rows import HUB, Row, load

PROCEDURAL = "procedural"
LEVELS = (PROCEDURAL, *HUB)
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")

BOXED = "Put the final answer in \\boxed{}."
"""What questions from files end with, unless `ask` says otherwise; generated ones are kept short for small models."""

_PATIENCE = 500
"""Keys in a row that give no new task before a split counts as used up."""


class MathFamily:
    """level: one of LEVELS. path: rows of the user's own in place of the level's, see rows.py.

    generators: of the procedural level, `integers` and `gsm_symbolic`. reward: graded, copes or answer, see reward.py.
    calls: most tool calls of an episode. sandbox: what runs the model's Python (esagent.tools.python).
    shares: of train, validation and heldout among rows that name no split. subset: configuration of a data set on a
    hub. ask: a sentence that ends every question. seconds: longest comparison of two answers by algebra.

    Splits share no template and no number of the own generator, no template of gsm_symbolic, and no near-duplicates
    of rows. Raises ConfigError for options that do not fit, EnvironmentFailure for what is not installed.
    """

    name = "math"
    about = About(
        summary="questions with one exact answer, and a Python tool to work it out with",
        source="procedural: generated from a seed; other levels: task.path=FILE, or a hub",
        licence="procedural: MIT as esagent (gsm_symbolic: Apache-2.0); gsm8k, math500: MIT; others: see the docs",
        levels=LEVELS,
        splits=dict.fromkeys(SPLITS, "without end, or as the file has"),
        missing=no_sandbox,
    )

    def __init__(
        self,
        level: str = PROCEDURAL,
        path: str | None = None,
        *,
        generators: Sequence[str] = ("integers",),
        reward: str = "graded",
        calls: int = 5,
        sandbox: str = "auto",
        shares: Sequence[float] = (0.4, 0.15, 0.45),
        subset: str | None = None,
        ask: str | None = None,
        seconds: float = 10.0,
    ) -> None:
        _check(level, path, generators, reward, calls, seconds)
        self.level, self.reward, self.calls = level, reward, calls
        self._sandbox = LateSandbox(sandbox)
        self._checker = Checker(seconds)
        self._generators: Mapping[str, Generator] = {}
        self._rows: Mapping[Split, Sequence[Row]] = {}
        if path is None and level == PROCEDURAL:
            self._generators = {name: GENERATORS[name]() for name in generators}
        else:
            self._rows = load(level, path, subset, shares)
        self._ask = ask if ask is not None else BOXED if self._rows else ""

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` tasks of (split, seed), no two alike. Raises ConfigError when the split has fewer."""
        if self._rows:
            return self._from_rows(split, seed, n)
        found: dict[str, Task] = {}
        misses = at = 0
        while len(found) < n:
            task = self._generated(split, seed, at)
            at += 1
            misses = misses + 1 if task is None or task.prompt in found else 0
            if task is not None:
                found.setdefault(task.prompt, task)
            if misses == _PATIENCE:
                raise ConfigError(f"task: math/{self.level} has {len(found)} {split} tasks, {n} were asked for")
        return list(found.values())

    def env(self, task: Task) -> LimitedCalls:
        """The Python tool, for `calls` calls. All episodes share its sandbox, where no program sees another's state."""
        self._sandbox.start()
        return LimitedCalls({"python": python_tool(self._sandbox)}, self.calls)

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The reward of reward.py. Raises CheckerError when two answers could not be compared (checker.py)."""
        # An answer that repeats the question does not answer by what stands in it.
        reading = read_answer(trajectory.answer.replace(task.prompt, " "))
        right = reading is not None and self._equal(reading.value, task.payload["answer"])
        last = next((turn.result.output for turn in reversed(trajectory.turns) if turn.result and turn.result.ok), None)
        faithful = reading is not None and last is not None and compare(reading.value, last) is True
        found = parts(right, reading.plain if reading else None, trajectory)
        return scored(found, self.reward, trajectory, faithful)

    def gold(self, task: Task) -> Trajectory:
        """One call that works out or, where no solution is known, prints the answer, really executed; then the answer.

        Raises RuntimeError when the tool does not give the answer.
        """
        code, answer = task.payload["code"], task.payload["answer"]
        result = self.env(task).call("python", {"code": code})
        if not result.ok or result.output.strip() != answer:
            raise RuntimeError(f"{task.id}: python({code}) gives {result.output[:60]!r}, not {answer!r}")
        call = Turn("caller", task.prompt, Completion(f"python({code})"), ToolCall("python", {"code": code}), result)
        return Trajectory((call, Turn("synthesizer", task.prompt, Completion(answer))), answer)

    def validate(self) -> list[str]:
        """Every template or row: gold scores 1; empty, copied and junk answers 0."""
        return [problem for split in SPLITS for task in self._one_each(split) for problem in self._problems(task)]

    def _from_rows(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        rows = self._rows[split]
        if n > len(rows):
            total = sum(map(len, self._rows.values()))
            setting = "task.pool" if split == "train" else f"task.{split}"
            raise ConfigError(
                f"task: {len(rows)} of the {total} rows of math/{self.level} are {split}, {n} were asked for; ask for "
                f"fewer ({setting}) or set task.options.shares"
            )
        order = permutation(key("math rows", split, seed), len(rows))
        return [self._row_task(rows[at], split) for at in order[:n]]

    def _row_task(self, row: Row, split: Split) -> Task:
        payload = {"answer": row.answer, "code": f"print({row.answer!r})"}
        return self._task(f"{self.level}-{row.place}", split, row.question, payload, "")

    def _generated(self, split: Split, seed: int, at: int) -> Task | None:
        names = list(self._generators)
        name = names[key("math generator", split, seed, at) % len(names)]
        kinds = self._generators[name].kinds(split)
        kind = kinds[key("math template", split, seed, at) % len(kinds)]
        return self._problem_task(name, kind, split, key("math", name, split, seed, at), f"{split}-{seed}-{at}")

    def _problem_task(self, name: str, kind: str, split: Split, seed: int, place: str) -> Task | None:
        problem = self._generators[name].make(split, kind, seed)
        if problem is None:
            return None
        payload = {"answer": problem.answer, "code": problem.code}
        return self._task(f"{name}-{place}", split, problem.question, payload, f"{name}: {kind}")

    def _task(self, place: str, split: Split, question: str, payload: Mapping[str, Any], kind: str) -> Task:
        prompt = f"{question} {self._ask}".strip()
        return Task(f"math-{place}", self.name, split, prompt, (python_tool(self._sandbox).spec,), payload, kind)

    def _equal(self, given: str, gold: str) -> bool:
        exactly = compare(given, gold)
        return self._checker.equal(for_algebra(given), for_algebra(gold)) if exactly is None else exactly

    def _one_each(self, split: Split) -> Iterator[Task]:
        """One task of every template of a split, or every row."""
        yield from (self._row_task(row, split) for row in self._rows.get(split, ()))
        for name, generator in self._generators.items():
            for kind in generator.kinds(split):
                place = f"check-{split}-{kind.replace(' ', '-')}"
                made = (self._problem_task(name, kind, split, key("validate", at), place) for at in range(_PATIENCE))
                task = next(filter(None, made), None)
                if task is None:
                    raise RuntimeError(f"math: no values fit template {kind!r} of {name}")
                yield task

    def _problems(self, task: Task) -> Iterator[str]:
        try:
            gold = self.gold(task)
        except RuntimeError as error:
            yield str(error)
            return
        tries = {"gold": (gold, 1.0)}
        for junk in ("", "blah blah", task.prompt):
            tries[f"answer {junk[:40]!r}"] = (Trajectory((Turn("policy", "", Completion(junk)),), junk), 0.0)
        for name, (trajectory, wanted) in tries.items():
            found = self.score(task, trajectory)
            if found.reward != wanted:
                yield f"{task.id}: {name} scores {found.reward} ({found.reason}), not {wanted}"


def _check(level: str, path: str | None, generators: Sequence[str], reward: str, calls: int, seconds: float) -> None:
    problems = []
    if level not in LEVELS:
        problems.append(f"task.level: there is no level {level!r}; there are {', '.join(LEVELS)}")
    if isinstance(generators, str) or not generators or not set(generators) <= set(GENERATORS):
        known = ", ".join(GENERATORS)
        problems.append(f"task.options.generators: a list of {known} is needed, not {generators!r}")
    if reward not in REWARDS:
        problems.append(f"task.options.reward: there is no {reward!r}; there are {', '.join(REWARDS)}")
    if type(calls) is not int or calls < 1:
        problems.append(f"task.options.calls: must be a whole number of at least 1, not {calls!r}")
    if type(seconds) not in (int, float) or not seconds > 0:
        problems.append(f"task.options.seconds: must be a number above 0, not {seconds!r}")
    if problems:
        raise ConfigError(*problems)
