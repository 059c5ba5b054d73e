"""A complete small world without a language model: a backend whose parameters are vectors, an agent, a task family.

Everything is real: the search space has blocks, perturbations are rebuilt from seeds, updates move the weights, answers
follow from the perturbed parameters, and a run over it learns. Only the "model" is a formula: a module answers a prompt
`<module>: <word>` rightly (with the word) when its parameters lie far enough along a hidden direction, how far depends
on the prompt; otherwise it answers `?`.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from esagent.agents.base import Run
from esagent.assemble import Facts, Parts, combine
from esagent.backends.base import Applied
from esagent.config.schema import (
    AgentConfig,
    AlgorithmConfig,
    BudgetConfig,
    Config,
    ScheduleConfig,
    ScheduleKind,
    Select,
    SigmaConfig,
    TaskConfig,
)
from esagent.core.episode import UNPERTURBED, Completion, Cost, Request, Score, Task, ToolResult, Trajectory, Turn
from esagent.core.noise import gaussian, key, uniform
from esagent.core.population import Block, Perturbation, Update
from esagent.core.rules import State, advance
from esagent.errors import RunError
from esagent.pools import make_pools

SIZE = 8
MODULES = ("finder", "writer")


class VectorBackend:
    """One fp32 vector theta per module, which knows a prompt's word when <theta, w> exceeds the prompt's threshold."""

    together: int | None = None

    def __init__(self, modules: Sequence[str] = MODULES, size: int = SIZE) -> None:
        self.centre = {name: torch.zeros(size) for name in modules}
        self._state: dict[str, State] = {name: {} for name in modules}
        self._updates = 0
        self._cost = Cost()

    def blocks(self) -> tuple[Block, ...]:
        return tuple(Block(name, theta.numel()) for name, theta in self.centre.items())

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        start = time.monotonic()
        answers = [self._answer(request, members) for request in requests]
        words = sum(len(request.prompt.split()) for request in requests)
        self._cost += Cost(words, len(requests), 0, len(requests), 2.0 * words, time.monotonic() - start)
        return answers

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        """log sigmoid(4 m) of the right word and log sigmoid(-4 m) of any other text, m by how much it is known."""
        start = time.monotonic()
        words = sum(len(request.prompt.split()) for request in requests)
        found = []
        for request, text in zip(requests, texts, strict=True):
            sign = 1.0 if text == request.prompt.split()[-1] else -1.0
            found.append(-math.log1p(math.exp(-4.0 * sign * self._margin(request, members))))
        self._cost += Cost(words, len(requests), 0, len(requests), 2.0 * words, time.monotonic() - start)
        return found

    def _margin(self, request: Request, members: Sequence[Perturbation]) -> float:
        """How much farther than needed the module's parameters lie."""
        member = None if request.member == UNPERTURBED else members[request.member]
        return float(self._theta(request.module, member) @ _hidden(request.module, SIZE)) - _threshold(request.prompt)

    def _answer(self, request: Request, members: Sequence[Perturbation]) -> Completion:
        text = request.prompt.split()[-1] if self._margin(request, members) > 0 else "?"
        return Completion(text, prompt_tokens=len(request.prompt.split()), completion_tokens=1)

    def _theta(self, name: str, member: Perturbation | None) -> torch.Tensor:
        theta = self.centre[name]
        if member is None or name not in member.sigma:
            return theta
        return theta + member.sign * member.sigma[name] * gaussian(member.seed, name, 0, theta.numel())

    def apply(self, update: Update) -> Applied:
        moved = {}
        for name, theta in self.centre.items():
            estimate = torch.zeros_like(theta)
            for term in update.terms:
                if name in term.coefficient:
                    estimate += term.coefficient[name] * gaussian(term.seed, name, 0, theta.numel())
            rms = estimate.square().mean().sqrt()
            if update.normalise != "none" and rms > 0:
                estimate = estimate / rms
            direction, self._state[name] = advance(
                update.rule, estimate, self._state[name], self._updates, update.scalars
            )
            step = update.step_size[name] * direction
            self.centre[name] = theta + step
            moved[name] = float(step.square().mean().sqrt())
        self._updates += 1
        some = any(moved.values())
        return Applied(self.digest(), 1.0 if some else float("nan"), 0.0, moved)

    def digest(self) -> str:
        total = hashlib.sha256(str(self._updates).encode())
        for name, tensor in sorted(self._tensors().items()):
            total.update(name.encode() + tensor.numpy().tobytes())
        return total.hexdigest()

    def save(self, path: Path) -> None:
        save_file(self._tensors(), path)

    def load(self, path: Path) -> None:
        tensors = load_file(path)
        missing = [name for name in self.centre if f"theta/{name}" not in tensors]
        if missing:
            raise RunError(f"{path} has no parameters of {missing[0]}")
        self.centre = {name: tensors[f"theta/{name}"] for name in self.centre}
        self._updates = int(tensors["updates"])
        self._state = {name: {} for name in self.centre}
        for key_, tensor in tensors.items():
            kind, _, rest = key_.partition("/")
            if kind == "state":
                name, _, slot = rest.partition("/")
                self._state[name][slot] = tensor

    def displacement(self, start: Path) -> dict[str, float]:
        there = load_file(start)
        return {
            name: float((theta - there[f"theta/{name}"]).square().mean().sqrt()) for name, theta in self.centre.items()
        }

    def forget_optimiser(self) -> None:
        self._state = {name: {} for name in self.centre}
        self._updates = 0

    def cost(self) -> Cost:
        return self._cost

    def _tensors(self) -> dict[str, torch.Tensor]:
        tensors = {f"theta/{name}": theta for name, theta in self.centre.items()}
        tensors |= {f"state/{name}/{k}": v for name, state in self._state.items() for k, v in state.items()}
        return tensors | {"updates": torch.tensor(self._updates)}


class EchoAgent:
    """Two modules in a row: the finder must find the word of the task, the writer must write what was found."""

    modules = MODULES

    def run(self, task: Task, env: EchoEnvironment) -> Run:
        found = Request("finder", f"finder: {task.prompt}")
        first = yield found
        turns = [Turn("finder", found.prompt, first)]
        if first.text != "?":
            written = Request("writer", f"writer: {first.text}")
            turns.append(Turn("writer", written.prompt, (yield written)))
        return Trajectory(tuple(turns), turns[-1].completion.text)


class EchoEnvironment:
    """Has no tools."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return ToolResult(False, f"unknown tool {name}")


class EchoFamily:
    """Words to echo. Half the reward for finding the word, all of it for writing it.

    breaks: every task whose number is divisible by it cannot be scored, the first `failures` times it is tried.
    overlap: validation repeats the training words, a defect that runs must notice.
    """

    name = "echo"

    def __init__(self, breaks: int = 0, failures: int = 10**9, overlap: bool = False) -> None:
        self.breaks = breaks
        self.failures = failures
        self.overlap = overlap
        self.broken = 0

    def tasks(self, split: str, seed: int, n: int) -> list[Task]:
        source = "train" if split == "validation" and self.overlap else split
        words = [f"{key('word', source, seed, i) % 16**10:010x}" for i in range(n)]
        return [Task(f"{split}-{i}", self.name, split, word, payload={"n": i}) for i, word in enumerate(words)]

    def env(self, task: Task) -> EchoEnvironment:
        return EchoEnvironment()

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        breaks = self.breaks and task.split == "train" and task.payload["n"] % self.breaks == 0
        if breaks and self.broken < self.failures:
            self.broken += 1
            raise OSError("the checker died")
        found = len(trajectory.turns) > 1
        right = trajectory.answer == task.prompt
        signals = {"finder": float(found)} | ({"writer": float(right)} if found else {})
        return Score(0.5 * found + 0.5 * right, signals, "" if right else "wrong", success=right)

    def gold(self, task: Task) -> Trajectory:
        turns = (Turn("finder", "", Completion(task.prompt)), Turn("writer", "", Completion(task.prompt)))
        return Trajectory(turns, task.prompt)

    def validate(self) -> list[str]:
        task = self.tasks("heldout", 0, 1)[0]
        return [] if self.score(task, self.gold(task)).reward == 1 else [f"gold of {task.id} does not score 1"]


def vector_config(runs_dir: Path | str, **budget: Any) -> Config:
    """A run of a second or two that clearly learns."""
    return Config(
        agent=AgentConfig(target="tests.helpers.vector:EchoAgent"),
        task=TaskConfig(target="tests.helpers.vector:EchoFamily", pool=32, validation=24, heldout=48),
        algorithm=AlgorithmConfig(directions=6, step=ScheduleConfig(ScheduleKind.linear, 0.8, 0.2)),
        sigma=SigmaConfig(start=0.4),
        budget=replace(BudgetConfig(8, 12, evaluate_every=4, snapshot_every=3, select=Select.validation), **budget),
        seed=1,
        name="vector",
        runs_dir=str(runs_dir),
    )


def vector_parts(config: Config) -> Parts:
    """The `build` argument of `train` and `resume` for this world."""
    from esagent.config.target import build_target

    agent = build_target("agent.target", str(config.agent.target), config.agent.options)
    family = build_target("task.target", str(config.task.target), config.task.options)
    pools = make_pools(family, config.task, config.seed)
    facts = Facts(model_hash="formula", dtype="float32", device="cpu", threads=1)
    return combine(config, agent, family, pools, VectorBackend(agent.modules), facts)


def _hidden(module: str, size: int) -> torch.Tensor:
    direction = gaussian(key("hidden", module), module, 0, size)
    return direction / direction.norm()


def _threshold(prompt: str) -> float:
    """Between -0.8 and 1.2: at the start a module knows the words of two prompts in five."""
    return 2.0 * float(uniform(key("threshold", prompt), 1)[0]) - 0.8
