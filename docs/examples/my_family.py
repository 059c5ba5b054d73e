"""A task family of one's own: how many legs do some animals have? It offers one of the tools that ship."""

from esagent.core.episode import Completion, Score, Task, ToolCall, Trajectory, Turn
from esagent.core.noise import permutation
from esagent.errors import ConfigError
from esagent.tools.registry import ToolEnvironment, make_tools

LEGS = {"train": {"dog": 4, "bee": 6}, "validation": {"cat": 4, "ant": 6}, "heldout": {"cow": 4, "crab": 10}}
TOOLS = make_tools(["calculator"])


class MyFamily:
    name = "legs"

    def tasks(self, split, seed, n):
        all_of_them = [(*legs, count) for legs in LEGS[split].items() for count in range(2, 80)]
        if n > len(all_of_them):
            raise ConfigError(f"legs has {len(all_of_them)} {split} tasks, not {n}")
        return [self._task(split, *all_of_them[i]) for i in permutation(seed, len(all_of_them))[:n]]

    def _task(self, split, animal, legs, count):
        prompt = f"One {animal} has {legs} legs. How many legs do {count} of them have?"
        gold = {"sum": f"{count} * {legs}", "answer": str(count * legs)}
        return Task(f"{animal}-{count}", "legs", split, prompt, (TOOLS["calculator"].spec,), gold)

    def env(self, task):
        return ToolEnvironment(TOOLS)  # anything with call(name, arguments) -> ToolResult

    def score(self, task, trajectory):
        found = task.payload["answer"] in [turn.result.output for turn in trajectory.turns if turn.result]
        right = found and trajectory.answer == task.payload["answer"]
        return Score(0.5 * found + 0.5 * right, success=right)

    def gold(self, task):
        result = self.env(task).call("calculator", {"expression": task.payload["sum"]})
        turn = Turn("caller", task.prompt, Completion(""), ToolCall("calculator"), result)
        return Trajectory((turn,), result.output)

    def validate(self):
        return [t.id for s in LEGS for t in self.tasks(s, 0, 50) if self.score(t, self.gold(t)).reward != 1]
