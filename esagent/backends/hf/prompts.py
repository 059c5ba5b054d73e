"""States of prompts that no searched parameter touches, kept from step to step.

When parameters act on answers alone, a prompt's keys and values are the base model's through all layers and for the
whole run. Agents ask the same prompts again and again: every member, every step that draws the task. And where they ask
another, it mostly begins like one of those: a plan that departs in its last words, a result in place of another.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from esagent.backends.hf.jobs import Tokens

Key = tuple[Tokens, Tokens]

_WORTH = 4  # tokens in common below which looking at a further text costs more than computing them again


@dataclass(frozen=True)
class Reading:
    """A prompt to compute: the first `shared` tokens are those of `parent`, whose states are kept by then."""

    key: Key
    parent: Key | None = None
    shared: int = 0


class PromptStates:
    """Keys and values by (prefix, prompt), below and from the lowest searched layer; the least recently used go first.

    max_bytes: what they may take; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, tuple[Tensor, Tensor]] = OrderedDict()
        self._sorted: dict[Tokens, list[Tokens]] = {}

    def missing(self, prompts: Sequence[Key]) -> list[int]:
        """Positions of the prompts that have to be computed."""
        return [i for i, prompt in enumerate(prompts) if prompt not in self._kept]

    def keep(self, prompt: Key, trunk: Tensor, upper: Tensor) -> None:
        """Remember a computed prompt: two tensors [2, layers, n, kv_heads, dim]."""
        self._kept[prompt] = trunk, upper
        self._bytes += trunk.nbytes + upper.nbytes
        insort(self._sorted.setdefault(prompt[0], []), prompt[1])

    def get(self, prompts: Sequence[Key]) -> list[tuple[Tensor, Tensor]]:
        """The states of kept prompts; then forgets what is too much."""
        found = []
        for prompt in prompts:
            self._kept.move_to_end(prompt)
            found.append(self._kept[prompt])
        while self._bytes > self._max_bytes:
            (prefix, text), (trunk, upper) = self._kept.popitem(last=False)
            self._bytes -= trunk.nbytes + upper.nbytes
            del self._sorted[prefix][bisect_left(self._sorted[prefix], text)]
        return found

    def peek(self, prompt: Key) -> tuple[Tensor, Tensor]:
        """The states of a kept prompt."""
        return self._kept[prompt]

    def closest(self, prompt: Key) -> Reading:
        """`prompt` behind the kept one that begins most like it: in order of tokens, a neighbour of its."""
        prefix, text = prompt
        kept = self._sorted.get(prefix, [])
        at = bisect_left(kept, text)
        near = [(common(other, text), other) for other in kept[max(0, at - 1) : at + 1]]
        shared, other = max(near, default=(0, ()))
        return Reading(prompt, (prefix, other), shared) if shared >= _WORTH else Reading(prompt)


def waves(new: Sequence[Key], states: PromptStates, pass_tokens: int) -> list[list[Reading]]:
    """How to compute distinct new prompts: what is in the second wave begins like a prompt of the first.

    A prompt that shares half of its tokens with one of the first wave waits for it, if all who wait save more than
    the `pass_tokens` that a further pass costs.
    """
    direct = [states.closest(key) for key in sorted(new)]
    first: list[Reading] = []
    second: list[Reading] = []
    saved = 0
    for reading in direct:
        prefix, text = reading.key
        root = first[-1].key if first else None
        shared = common(root[1], text) if root and root[0] == prefix else 0
        if 2 * shared >= len(text) and shared >= reading.shared + _WORTH:
            second.append(Reading(reading.key, root, shared))
            saved += shared - reading.shared
        else:
            first.append(reading)
    return [first, second] if saved > pass_tokens else [direct]


def common(one: Tokens, other: Tokens) -> int:
    """How many tokens two prompts begin with alike, short of the last token of either: it is read with the answer."""
    length = min(len(one), len(other)) - 1
    return next((i for i in range(length) if one[i] != other[i]), max(length, 0))
