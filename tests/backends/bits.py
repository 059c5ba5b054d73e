"""Logits by their bits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Bits:
    """The rows of logits that an hf backend computes for tokens, not for what fills up a chunk."""

    def __init__(self, backend: Any) -> None:
        self.seen: set[bytes] = set()
        network = backend._network
        passes = backend._engine._passes
        original, greedy = network.logits, passes.greedy
        self._real = 1

        def logits(hidden: Tensor) -> Tensor:
            out = original(hidden)
            self.seen.update(row.numpy().tobytes() for row in out[: self._real].view(torch.uint8))
            self._real = max(1, self._real - len(out))
            return out

        def chosen(states: Tensor, slots: list[int]) -> Tensor:
            self._real = len(states)
            return greedy(states, slots)

        network.logits, passes.greedy = logits, chosen
