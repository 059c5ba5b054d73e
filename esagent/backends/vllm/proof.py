"""Proof, when a run starts, that what is searched shows in what vLLM answers.

Names and sizes may fit while a kernel reads a copy of its own. So the model as transformers holds it reads a short
text, at the centre and under a member that differs in every block, and vLLM must find the same log-probabilities. The
member is made large enough for its effect to stand out from rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from esagent.core.population import Perturbation
from esagent.errors import EnvironmentFailure

_TOLERANCE = {torch.float32: 2e-3, torch.bfloat16: 0.3}
_LENGTH = 12
_TRIES = 14
_SIGMA = 1e-4  # at first


def prove(
    vocabulary: int,
    blocks: Sequence[str],
    dtype: torch.dtype,
    expected: Callable[[Sequence[int], Perturbation | None], Tensor],
    found: Callable[[Sequence[int], Perturbation | None], Tensor],
) -> None:
    """expected, found: log-probabilities [n] of the tokens after the first of a text [n + 1], under a member.

    Raises EnvironmentFailure where they differ by more than rounding explains.
    """
    tokens = [(7919 * at + 13) % vocabulary for at in range(_LENGTH + 1)]
    tolerance = _TOLERANCE[dtype]
    centre = expected(tokens, None)
    _compare(centre, found(tokens, None), tolerance, "unperturbed")
    member, moved = _standing_out(tokens, blocks, centre, 10 * tolerance, expected)
    _compare(moved, found(tokens, member), tolerance, "under a member that differs in every block")
    _compare(centre, found(tokens, None), tolerance, "after a member")


def _standing_out(
    tokens: Sequence[int], blocks: Sequence[str], centre: Tensor, least: float, expected: Callable[..., Tensor]
) -> tuple[Perturbation, Tensor]:
    """A member that moves a log-probability by `least` or more, and what it makes of them."""
    sigma = _SIGMA
    for _ in range(_TRIES):
        member = Perturbation(1, 1, dict.fromkeys(blocks, sigma), partition=1)
        moved = expected(tokens, member)
        if float((moved - centre).abs().max()) >= least:
            return member, moved
        sigma *= 3
    raise EnvironmentFailure(f"the model does not answer to what is searched, not even at sigma {sigma / 3:.1g}")


def _compare(expected: Tensor, found: Tensor, tolerance: float, where: str) -> None:
    away = float((expected - found).abs().max())
    if not away <= tolerance:
        raise EnvironmentFailure(
            f"backend=vllm: {where}, its log-probabilities are off by {away:.2g} from those of transformers (at most "
            f"{tolerance:g}): part of what is searched does not reach its answers"
        )


def log_probabilities(logits: Any, tokens: Sequence[int]) -> Tensor:
    """Of the tokens after the first, [n], from logits [n + 1, vocabulary]."""
    rows = logits[:-1].double().log_softmax(-1)
    return rows.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
