"""From logits to the next token and the end of a completion: greedy, sampled, constrained, stopped."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from esagent.backends.hf.jobs import Job, Outcome, Tokens
from esagent.core.noise import key, uniform

NONFINITE = -1
"""Stands for a token where the logits were not finite."""


def best(logits: Tensor) -> Tensor:
    """Most likely token of each row, [rows]; NONFINITE where the logits are not finite. logits: [rows, vocabulary]."""
    top, index = logits.max(-1)
    return torch.where(torch.isfinite(top), index, NONFINITE)


def pick(job: Job, generated: Sequence[int], logits: Tensor) -> int:
    """Next token of a sampled or constrained job. logits: [vocabulary]."""
    if not bool(torch.isfinite(logits.max())):
        return NONFINITE
    scores = logits.float()
    if job.temperature > 0:
        # Gumbel-max with keyed noise: a sample depends on the request's seed and the position alone.
        noise = torch.from_numpy(uniform(key("sample", job.seed, len(generated)), scores.numel())).to(scores.device)
        scores = scores / job.temperature - torch.log(-torch.log(noise.float().clamp(1e-12, 1 - 1e-7)))
    if job.choices:
        allowed = sorted(allowed_next(job.choices, tuple(generated)))
        return allowed[int(scores[allowed].argmax())]
    return int(scores.argmax())


def allowed_next(choices: Sequence[Tokens], generated: Tokens) -> set[int]:
    """Tokens that continue `generated` towards one of the choices."""
    at = len(generated)
    return {c[at] for c in choices if len(c) > at and c[:at] == generated}


class Ending:
    """Decides whether a completion has ended, and what its text is."""

    def __init__(self, tokenizer: Any, eos: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self._eos = eos
        self._decode = functools.lru_cache(maxsize=65536)(self._decode_now)

    def _decode_now(self, tokens: Tokens) -> str:
        return self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def update(self, job: Job, outcome: Outcome) -> bool:
        """Set reason and text if the newest token ends the completion; whether it did."""
        tokens = tuple(outcome.tokens)
        if tokens[-1] == NONFINITE:
            outcome.reason, outcome.text = "nonfinite", self._decode(tokens[:-1])
        elif tokens[-1] in self._eos:
            outcome.reason, outcome.text = "stop", self._decode(tokens[:-1])
        else:
            text = self._decode(tokens)
            cut = min((at for s in job.stop if (at := text.find(s)) >= 0), default=-1)
            if cut >= 0:
                outcome.reason, outcome.text = "stop", text[:cut]
            elif job.choices and not allowed_next(job.choices, tokens):
                outcome.reason, outcome.text = "stop", text
            elif len(tokens) >= job.max_new:
                outcome.reason, outcome.text = "length", text
        return bool(outcome.reason)
