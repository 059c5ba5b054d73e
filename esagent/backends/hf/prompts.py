"""States of prompts that no searched parameter touches, kept from step to step.

When parameters act on answers alone, a prompt's keys and values are the base model's through all layers and for the
whole run. Agents ask the same prompts again and again: every member, every step that draws the task.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from torch import Tensor

from esagent.backends.hf.jobs import Tokens

Key = tuple[Tokens, Tokens]


class PromptStates:
    """Keys and values by (prefix, prompt), below and from the lowest searched layer; the least recently used go first.

    max_bytes: what they may take; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, tuple[Tensor, Tensor]] = OrderedDict()

    def missing(self, prompts: Sequence[Key]) -> list[int]:
        """Positions of the prompts that have to be computed."""
        return [i for i, prompt in enumerate(prompts) if prompt not in self._kept]

    def keep(self, prompt: Key, trunk: Tensor, upper: Tensor) -> None:
        """Remember a computed prompt: two tensors [2, layers, n, kv_heads, dim]."""
        self._kept[prompt] = trunk, upper
        self._bytes += trunk.nbytes + upper.nbytes

    def get(self, prompts: Sequence[Key]) -> list[tuple[Tensor, Tensor]]:
        """The states of kept prompts; then forgets what is too much."""
        found = []
        for prompt in prompts:
            self._kept.move_to_end(prompt)
            found.append(self._kept[prompt])
        while self._bytes > self._max_bytes:
            _, (trunk, upper) = self._kept.popitem(last=False)
            self._bytes -= trunk.nbytes + upper.nbytes
        return found
