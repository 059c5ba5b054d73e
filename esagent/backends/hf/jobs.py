"""What the engine works on: one job per distinct (parameters, prompt, decoding) and its outcome."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

Tokens = tuple[int, ...]
SlotKey = tuple[Hashable, ...]
"""Module and what perturbs it: a name for a set of parameters that holds beyond one call."""


@dataclass(frozen=True)
class PrefixKey:
    """A prefix to compute. alone: 0, or a number of its own where prefixes are not shared."""

    tokens: Tokens
    alone: int


@dataclass(frozen=True)
class Job:
    """One sequence to complete.

    slot: index of its parameters in this call; slot_key: the same, valid beyond this call.
    prefix, prompt: token ids; the prefix's keys and values are computed once per slot, unless it stands `alone`.
    choices: token sequences of which the completion must be one; () for free text.
    answer: the completion whose likelihood is asked for; () where one is to be found.
    """

    slot: int
    slot_key: SlotKey
    prefix: Tokens
    prompt: Tokens
    max_new: int
    stop: tuple[str, ...]
    choices: tuple[Tokens, ...] = ()
    temperature: float = 0.0
    seed: int = 0
    alone: int = 0
    answer: Tokens = ()

    @property
    def prefix_key(self) -> PrefixKey:
        """What the states of its prefix are found by."""
        return PrefixKey(self.prefix, self.alone)

    @property
    def greedy(self) -> bool:
        """Free greedy decoding, the only kind that a guess can be checked for."""
        return self.temperature == 0 and not self.choices

    @property
    def length(self) -> int:
        """Positions a row of this job can come to occupy."""
        return len(self.prefix) + len(self.prompt) + self.max_new


@dataclass
class Outcome:
    """Tokens generated so far (the stop token included) and, once finished, why it ended and its text."""

    tokens: list[int]
    reason: Literal["", "stop", "length", "nonfinite"] = ""
    text: str = ""


@dataclass
class Meter:
    """Work really done: layer-tokens below and from the lowest searched layer (of these, for prefixes and prompts),
    head evaluations, guesses and those that held."""

    trunk_tokens: int = 0
    upper_tokens: int = 0
    prompt_tokens: int = 0
    head_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
