"""Stochastic rounding to bfloat16: right on average, where rounding to nearest would swallow small steps.

A number between two neighbours goes to the upper one with probability (x - lower) / (upper - lower).
"""

from __future__ import annotations

import torch
from torch import Tensor

WORDS = 1 << 16
"""The random words that `stochastic` takes are integers below this."""

_HIGH = -WORDS  # 0xFFFF0000


def stochastic(values: Tensor, words: Tensor) -> Tensor:
    """Round float32 values [n] to bfloat16 by the random words [n], integers from 0 to 65535.

    A bfloat16 is the upper half of a float32: adding a random number to the lower half carries with the right
    probability, up to 2^-16 of the gap. The word 65535 - u makes of c - d the mirror image of what u makes of c + d,
    for a c that needs no rounding. What is not finite stays what it is.
    """
    carried = (values.view(torch.int32) + words.to(torch.int32)) & _HIGH
    return torch.where(values.isfinite(), carried.view(torch.float32), values).to(torch.bfloat16)
