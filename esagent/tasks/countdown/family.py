"""The countdown family: combine given numbers, each used once, into a target (as in ES at Scale, arXiv 2509.24372)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from esagent.core.episode import Completion, Score, Task, Trajectory, Turn
from esagent.core.noise import key, permutation
from esagent.errors import ConfigError
from esagent.tasks.about import About
from esagent.tasks.base import Split
from esagent.tasks.countdown.puzzles import Puzzle, draw, load, owner
from esagent.tasks.countdown.reward import read, reward, solves
from esagent.tasks.division import check_shares
from esagent.tools.registry import ToolEnvironment, make_tools

SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
REWARDS = ("graded", "answer")

PROMPT = (
    "Combine the numbers {numbers} with + - * / and parentheses so that the result is {target}. Use each number "
    "exactly once. Write the expression between answer tags, like this: <answer>(1 + 2) / 3</answer>"
)

_PATIENCE = 3000
"""Keys in a row that give no new task before a split counts as used up."""


class CountdownFamily:
    """path: a JSONL file, or a folder with train.jsonl and test.jsonl; without one, puzzles are drawn from the seed.

    sizes, highest, targets: of drawn puzzles, how many numbers, the largest of them, and the range of the target.
    reward: graded, (answer + 0.1 format) / 1.1, or answer, 1 for a right one (reward.py). shares: of train, validation
    and heldout. tools: names of shipped tools that the agent is offered.

    All puzzles over the same numbers are in one split. Raises ConfigError for options that do not fit.
    """

    name = "countdown"
    about = About(
        summary="numbers to combine into a target, as in ES at Scale",
        source="generated from a seed, or task.path=FILE",
        licence="MIT as esagent, or that of the file",
        splits=dict.fromkeys(SPLITS, "without end, or as the file has"),
    )

    def __init__(
        self,
        path: str | None = None,
        *,
        sizes: Sequence[int] = (3, 4),
        highest: int = 99,
        targets: Sequence[int] = (10, 100),
        reward: str = "graded",
        shares: Sequence[float] = (0.4, 0.15, 0.45),
        tools: Sequence[str] = (),
    ) -> None:
        _check(sizes, highest, targets, reward)
        check_shares(shares)
        self.reward, self._shares = reward, tuple(shares)
        self._sizes, self._highest, self._targets = tuple(sizes), highest, (targets[0], targets[1])
        self._tools = tuple(tool.spec for tool in make_tools(tools).values())
        self._rows: Mapping[Split, Sequence[Puzzle]] = load(path, shares) if path else {}

    def tasks(self, split: Split, seed: int, n: int) -> Sequence[Task]:
        """The first `n` tasks of (split, seed), no two alike. Raises ConfigError when the split has fewer."""
        if self._rows:
            rows = self._rows[split]
            order = permutation(key("countdown rows", split, seed), len(rows))[:n]
            found = [self._task(rows[at], split, rows[at].place) for at in order]
        else:
            found = self._drawn(split, seed, n)
        if len(found) < n:
            setting = "task.pool" if split == "train" else f"task.{split}"
            raise ConfigError(f"task: countdown has {len(found)} {split} tasks, {n} were asked for ({setting})")
        return found

    def env(self, task: Task) -> ToolEnvironment:
        """The tools offered; none unless they were asked for."""
        return ToolEnvironment(make_tools([tool.name for tool in task.tools]))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """The reward of reward.py; the signal of whoever answers last is the reward."""
        raw = trajectory.turns[-1].completion.text if trajectory.turns else ""
        # An answer that repeats the question holds the example in it, which is no answer.
        found = read(trajectory.answer.replace(task.prompt, " "), raw)
        right = solves(found.expression, task.payload["numbers"], Fraction(task.payload["target"]))
        value = float(right) if self.reward == "answer" else reward(right, found.format)
        signals = {trajectory.turns[-1].module: value} if trajectory.turns else {}
        reason = "right, but not alone" if right else "wrong expression" if found.expression else "no expression"
        return Score(value, signals, "" if value == 1.0 else reason, value == 1.0)

    def gold(self, task: Task) -> Trajectory:
        """The known solution, in tags."""
        answer = f"<answer>{task.payload['solution']}</answer>"
        return Trajectory((Turn("synthesizer", task.prompt, Completion(answer)),), answer)

    def validate(self) -> list[str]:
        """Every row, or 40 drawn tasks a split: gold scores 1; empty, copied and junk answers 0."""
        return [problem for split in SPLITS for task in self._some(split) for problem in self._problems(task)]

    def _drawn(self, split: Split, seed: int, n: int) -> list[Task]:
        found: dict[tuple[object, ...], Task] = {}
        misses = at = 0

        def ours(numbers: Sequence[int]) -> bool:
            return owner(numbers, self._shares) == split

        while len(found) < n and misses < _PATIENCE:
            puzzle = draw(key("countdown", split, seed, at), self._sizes, self._highest, self._targets, ours)
            misses += 1
            if puzzle and (same := (*sorted(puzzle.numbers), puzzle.target)) not in found:
                found[same], misses = self._task(puzzle, split, f"{split}-{seed}-{at}"), 0
            at += 1
        return list(found.values())

    def _task(self, puzzle: Puzzle, split: Split, place: str) -> Task:
        prompt = PROMPT.format(numbers=", ".join(map(str, puzzle.numbers)), target=puzzle.shown)
        payload = {"numbers": list(puzzle.numbers), "target": str(puzzle.target), "solution": puzzle.solution}
        return Task(f"countdown-{place}", self.name, split, prompt, self._tools, payload)

    def _some(self, split: Split) -> Sequence[Task]:
        return self.tasks(split, 0, len(self._rows[split]) if self._rows else 40)

    def _problems(self, task: Task) -> Iterator[str]:
        tries = {"gold": (self.gold(task), 1.0)}
        for junk in ("", "blah blah", task.prompt, "<answer></answer>", " ".join(map(str, range(100)))):
            tries[f"answer {junk[:40]!r}"] = (Trajectory((Turn("policy", "", Completion(junk)),), junk), 0.0)
        for name, (trajectory, wanted) in tries.items():
            found = self.score(task, trajectory)
            if found.reward != wanted:
                yield f"{task.id}: {name} scores {found.reward} ({found.reason}), not {wanted}"


def _check(sizes: Sequence[int], highest: int, targets: Sequence[int], reward: str) -> None:
    problems = []
    if not _whole(sizes) or not sizes or not all(2 <= size <= 6 for size in sizes):
        problems.append(f"task.options.sizes: a list of whole numbers from 2 to 6 is needed, not {sizes!r}")
    if type(highest) is not int or highest < 2:
        problems.append(f"task.options.highest: must be a whole number of at least 2, not {highest!r}")
    if not _whole(targets) or len(targets) != 2 or targets[0] > targets[1]:
        problems.append(f"task.options.targets: the lowest and the highest target are needed, not {targets!r}")
    if reward not in REWARDS:
        problems.append(f"task.options.reward: there is no {reward!r}; there are {', '.join(REWARDS)}")
    if problems:
        raise ConfigError(*problems)


def _whole(values: object) -> bool:
    return isinstance(values, (list, tuple)) and all(type(value) is int for value in values)
