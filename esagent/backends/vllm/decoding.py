"""Next tokens as backend hf picks them: sampled under keys, held to choices, and logits that are not finite seen.

A logits processor of vLLM, which then takes the argmax: where a request is sampled or constrained, all logits but those
of the token that was picked become -inf. A row whose logits are not finite is ended; its log-probability, which vLLM
takes before this, says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from vllm.v1.sample.logits_processor.interface import BatchUpdate, LogitsProcessor, MoveDirectionality

from esagent.backends.hf.choose import NONFINITE, allowed_next, pick
from esagent.backends.hf.jobs import Job
from esagent.backends.vllm.asked import extra


@dataclass(frozen=True)
class _Row:
    """job: how to pick its tokens; None for plain greedy decoding. tokens: those so far, kept up to date by vLLM."""

    job: Job | None
    tokens: Sequence[int]
    end: int


class KeyedDecoding(LogitsProcessor):
    """See the module."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._rows: dict[int, _Row] = {}

    def is_argmax_invariant(self) -> bool:
        """It decides what the argmax is."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests as they come, go, and change places."""
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._rows.pop(index, None)
        for index, params, _, tokens in batch_update.added:
            asked = extra(params)
            if asked:
                self._rows[index] = _Row(_job(asked), tokens, asked["end"])
            else:
                self._rows.pop(index, None)
        for first, second, direction in batch_update.moved:
            here, there = self._rows.pop(first, None), self._rows.pop(second, None)
            if here is not None:
                self._rows[second] = here
            if there is not None and direction is MoveDirectionality.SWAP:
                self._rows[first] = there

    def apply(self, logits: Tensor) -> Tensor:
        """logits: [requests, vocabulary], fp32, changed in place."""
        finite = torch.isfinite(logits.amax(-1)).tolist()
        for index, row in self._rows.items():
            if index >= len(finite):
                continue
            if not finite[index]:
                _only(logits[index], row.end)
            elif row.job is not None:
                _only(logits[index], _pick(row.job, row, logits[index]))
        return logits


def _pick(job: Job, row: _Row, logits: Tensor) -> int:
    tokens = tuple(row.tokens)
    if job.choices and not allowed_next(job.choices, tokens):
        return row.end
    token = pick(job, tokens, logits)
    return row.end if token == NONFINITE else token


def _only(logits: Tensor, token: int) -> None:
    logits.fill_(float("-inf"))
    logits[token] = 0.0


def _job(asked: dict[str, Any]) -> Job | None:
    choices = tuple(tuple(choice) for choice in asked.get("choices", ()))
    temperature = float(asked.get("temperature", 0.0))
    if not choices and temperature == 0.0:
        return None
    return Job(0, (), (), (), 0, (), choices, temperature, int(asked.get("seed", 0)))
