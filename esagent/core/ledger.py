"""What a run has spent, and when its budget is used up: pure functions of what its finished steps cost.

A budget is an amount B of one kind: steps, episodes, tokens, FLOPs or seconds, of training alone. With c_0, c_1, ...
the costs of the steps that were done and S_t = c_0 + ... + c_(t-1),

    counted    the largest t with S_t <= B: a state counts when all the steps that led to it fit into the budget
    begun      a step is begun while the cheapest step so far would still fit: S_t + min c <= B
    T_t        t + floor((B - S_t) / mean c), the number of steps to be expected; t + 1 when B - S_t < 2 max c

Steps and episodes are known before a step is begun, so there every step that is begun counts, and the last one gets as
many whole directions as still fit. Tokens, FLOPs and seconds are known only afterwards: a step that turns out to go
beyond the budget is not counted. So no run has more than its budget, and what it leaves is less than one more step.

Schedules run over T_t steps. Their last value is reached in the last step that counts, unless one of the last two steps
costs more than every step before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from esagent.core.episode import Turn
from esagent.errors import RunError

KINDS = ("steps", "episodes", "tokens", "flops", "seconds")

COUNTS = ("episodes", "prompt_tokens", "completion_tokens", "shared_tokens", "trajectory_tokens")
"""What a row of metrics counts, beside `flops`, `seconds` and `generation_seconds`."""

MESSAGES = ("message_bytes", "text_bytes")
"""What a row counts beside that where there are workers: bytes to and from all of them, without texts and of texts."""

Row = Mapping[str, Any]
"""A row of metrics about one step, or a sum of such rows."""


@dataclass(frozen=True)
class Limit:
    """A budget: `amount` of `kind`.

    directions: of a whole step. episodes: that one direction takes, its members times the tasks. least: directions that
    a step needs at least. Costs are those of the steps done, in the unit of `kind`.
    """

    kind: str
    amount: float
    directions: int
    episodes: int
    least: int = 1

    @property
    def foreseen(self) -> bool:
        """Whether the cost of a step is known before it is begun."""
        return self.kind in ("steps", "episodes")

    def counted(self, costs: Sequence[float]) -> int:
        """How many of the steps count: those that end within the budget."""
        return sum(spent <= self.amount for spent in accumulate(costs))

    def next_directions(self, costs: Sequence[float]) -> int:
        """Directions of the next step; 0 when the run is over."""
        rest = self.amount - sum(costs)
        if self.kind == "episodes":
            fitting = min(self.directions, int(rest // self.episodes))
            return fitting if fitting >= self.least else 0
        need = 1.0 if self.kind == "steps" else min(costs, default=0.0)
        return self.directions if rest > 0 and need <= rest else 0

    def expected_steps(self, costs: Sequence[float]) -> int:
        """T_t: the steps that count in the whole run, as far as is known after those done."""
        done = len(costs)
        if not self.next_directions(costs):
            return self.counted(costs)
        rest = self.amount - sum(costs)
        if self.kind == "steps":
            return done + int(rest)
        if self.kind == "episodes":
            whole, part = divmod(int(rest // self.episodes), self.directions)
            return done + whole + (part >= self.least)
        if not done or rest < 2 * max(costs):
            return done + 1
        return done + max(1, int(rest / (sum(costs) / done)))

    def share(self, costs: Sequence[float]) -> float:
        """Share of the budget that was spent, at most 1."""
        return min(1.0, sum(costs) / self.amount) if self.amount > 0 else 1.0


def cost_of(row: Row, kind: str) -> float:
    """What a step cost, in the unit of a budget of `kind`.

    Tokens are those the agents asked for, prompt and completion, whatever sharing saved; FLOPs those really computed.
    """
    if kind == "steps":
        return 1.0
    if kind == "tokens":
        return float(row["prompt_tokens"] + row["completion_tokens"])
    return float(row[kind])


def step_cost(record: Mapping[str, Any], kind: str) -> float:
    """The same from the step's journal record. Raises RunError when it cost nothing: such steps never end a run."""
    if kind == "steps":
        return 1.0
    row = {
        "episodes": len(record["rewards"]) * len(record["tasks"]),
        **{name: record["cost"][name] for name in ("prompt_tokens", "completion_tokens", "flops")},
        "seconds": record["seconds"],
    }
    found = cost_of(row, kind)
    if not found > 0:
        raise RunError(f"step {record['step']} counted no {kind}, so a budget of {kind} would never be spent")
    return found


def total(rows: Iterable[Row]) -> dict[str, float]:
    """Sums over rows of metrics; what a row does not say in numbers counts as 0. Bytes are there if a row has them."""
    names = (*COUNTS, "flops", "seconds", "generation_seconds")
    sums: dict[str, float] = {name: 0 if name in COUNTS else 0.0 for name in names}
    for row in rows:
        for name in names:
            value = row.get(name)
            sums[name] += value if isinstance(value, int | float) else 0
        for name in MESSAGES:
            if isinstance(value := row.get(name), int):
                sums[name] = sums.get(name, 0) + value
    return sums


def model_flops(row: Row, parameters: int) -> dict[str, float]:
    """FLOPs by the papers' models for what a row counts, with P parameters.

    processed: 2 P a token that the agents asked for, prompt and completion alike. es: 2 P L, grpo: 8 P L, with L the
    tokens of the trajectories; a GRPO update would take that for the same trajectories.
    """
    processed = row["prompt_tokens"] + row["completion_tokens"]
    length = row["trajectory_tokens"]
    return {
        "processed": 2.0 * parameters * processed,
        "es": 2.0 * parameters * length,
        "grpo": 8.0 * parameters * length,
    }


def trajectory_tokens(turns: Sequence[Turn]) -> int:
    """L of an episode: every token of its conversations once.

    A later prompt of the same module that begins with an earlier one goes on with that conversation and holds it.
    """
    length = 0
    for place, turn in enumerate(turns):
        later = turns[place + 1 :]
        if not any(other.module == turn.module and other.prompt.startswith(turn.prompt) for other in later):
            length += turn.completion.prompt_tokens + turn.completion.completion_tokens
    return length
