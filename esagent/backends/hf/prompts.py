"""States of prompts that no searched parameter touches, kept from step to step.

When parameters act on answers alone, a prompt's keys and values are the base model's through all layers and for the
whole run. Agents ask the same prompts again and again: every member, every step that draws the task.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from torch import Tensor

from esagent.backends.hf.jobs import Tokens
from esagent.backends.hf.packing import KVStore

Key = tuple[Tokens, Tokens]


class PromptStates:
    """Keys and values by (prefix, prompt), without the prefix's; the least recently used go first.

    max_bytes: what they may take; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, list[Tensor]] = OrderedDict()

    def missing(self, prompts: Sequence[Key]) -> list[int]:
        """Positions of the prompts that have to be computed."""
        return [i for i, prompt in enumerate(prompts) if prompt not in self._kept]

    def keep(self, prompts: Sequence[Key], stores: Sequence[KVStore]) -> None:
        """Remember computed prompts: row i of the stores (of all layers together) belongs to prompts[i]."""
        tensors = _tensors(stores)
        for row, (prefix, prompt) in enumerate(prompts):
            first, last = len(prefix), len(prefix) + len(prompt) - 1
            state = [tensor[row, :, first:last].clone() for tensor in tensors]
            self._bytes += _size(state)
            self._kept[prefix, prompt] = state

    def fill(self, prompts: Sequence[Key], stores: Sequence[KVStore]) -> None:
        """Write the kept states into the rows of the stores; then forget what is too much."""
        tensors = _tensors(stores)
        for row, (prefix, prompt) in enumerate(prompts):
            self._kept.move_to_end((prefix, prompt))
            first, last = len(prefix), len(prefix) + len(prompt) - 1
            for tensor, part in zip(tensors, self._kept[prefix, prompt], strict=True):
                tensor[row, :, first:last] = part
        while self._bytes > self._max_bytes:
            _, state = self._kept.popitem(last=False)
            self._bytes -= _size(state)


def _tensors(stores: Sequence[KVStore]) -> list[Tensor]:
    return [tensor for store in stores for tensor in (*store.keys, *store.values)]


def _size(state: Sequence[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in state)
