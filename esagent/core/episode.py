"""The types an agent run speaks: tasks, requests, completions, turns, scores and episodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

UNPERTURBED = -1
"""Member index of the agent at the current centre of the search (no perturbation)."""

GOLD = "log-likelihood per token of the gold outputs"
"""Reason of a score whose `reward` is that, and no reward: of a gold episode, for supervised training."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as shown to a model. `parameters` is a JSON Schema object, in the order of positional arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """One problem. `prompt` is what the agent sees; `payload` holds the gold answer and plan, seen by scorers only.

    kind: what tasks of its sort share, such as their template; "" when it is like no other.
    """

    id: str
    family: str
    split: str
    prompt: str
    tools: tuple[ToolSpec, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""

    @property
    def group(self) -> str:
        """The group that its rewards are shaped in: its kind, or itself."""
        return self.kind or self.id

    @property
    def content_hash(self) -> str:
        """SHA-256 over everything but the id, so a pool can be proven free of what another pool holds."""
        body = [self.family, self.prompt, [t.name for t in self.tools], dict(self.payload)]
        return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Message:
    """One chat message, for models that have a chat template."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True)
class Request:
    """What an agent yields: one question to one module of one member.

    Raw models read `prefix + prompt`; `prefix` is the module's few-shot text, equal over all tasks, which a backend
    computes once per member. It ends at a token boundary (a newline) so that splitting does not change the tokens.
    Chat models read `messages` (rendered with the model's template, `tools` in its native format) when not empty.
    choices: when not empty the completion is exactly one of these strings, the most likely one.
    temperature: 0 is greedy; otherwise sampling with the key `seed`.
    """

    module: str
    prompt: str
    prefix: str = ""
    member: int = UNPERTURBED
    max_new_tokens: int = 32
    stop: tuple[str, ...] = ("\n",)
    choices: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Completion:
    """What a backend answers. `text` excludes the stop string.

    stop_reason: `stop` (stop string or end of text), `length` (token cap), `nonfinite` (logits were not finite: a
    failure of the model, scored low, never a harness failure), `context` (the model's context ended before the answer
    did; what was answered until then, nothing where the prompt alone fills it).
    shared: the answer was computed for an identical request and not paid for again.
    note: what `context` was too short for, in words.
    """

    text: str
    stop_reason: Literal["stop", "length", "nonfinite", "context"] = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    shared: bool = False
    note: str = ""

    @property
    def cut(self) -> bool:
        """Whether the model would have gone on."""
        return self.stop_reason in ("length", "context")


@dataclass(frozen=True)
class ToolResult:
    """What a tool call gave. A model's mistake is `ok=False` with an error text that the agent gets to see."""

    ok: bool
    output: str


@dataclass(frozen=True)
class ToolCall:
    """A call as parsed from model text. `error` is set when the text was not a valid call; then nothing was run."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Turn:
    """One request with its completion, and the tool call that came of it, if any."""

    module: str
    prompt: str
    completion: Completion
    call: ToolCall | None = None
    result: ToolResult | None = None


@dataclass(frozen=True)
class Trajectory:
    """What an agent did on one task: every turn in order, the plan it announced and its final answer."""

    turns: tuple[Turn, ...]
    answer: str
    plan: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """How well a trajectory solved a task.

    reward: in [0, 1] unless the family says otherwise; 1 only for a fully right episode.
    signals: per module, the share of its own work that was verifiably right, in [0, 1]; unreached modules are absent.
    unscored: a failure of the harness (checker raised, sandbox died); its reward must be dropped.
    """

    reward: float
    signals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    success: bool = False
    unscored: bool = False


@dataclass(frozen=True)
class Cost:
    """What generation cost. Token counts are exact; `shared_tokens` were answered without being computed again."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    shared_tokens: int = 0
    requests: int = 0
    flops: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.shared_tokens + other.shared_tokens,
            self.requests + other.requests,
            self.flops + other.flops,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Episode:
    """One member's run of one task with its score. `sample` counts sampled repetitions; None was decoded greedily."""

    task: Task
    member: int
    trajectory: Trajectory
    score: Score
    sample: int | None = None
