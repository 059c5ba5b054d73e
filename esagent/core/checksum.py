"""A checksum of many numbers that is computed where they lie, range by range."""

from __future__ import annotations

import functools
import hashlib

import numpy as np
import torch
from torch import Tensor

_SPAN = 1 << 18
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def checksum(values: Tensor) -> bytes:
    """sum_j f_j bits(x_j) modulo 2^64 for every span of 262,144 numbers, with fixed random odd factors f_j.

    values: [n], of any floating format. Integers only, so the same on every device and for any number of threads. A
    single number that differs always shows, and so do two that changed places; other differences are missed with
    probability 2^-64.
    """
    bits = values.view(_BITS[values.element_size()])
    factors = _factors(str(values.device))
    spans = [(span.long() * factors[: len(span)]).sum() for span in bits.split(_SPAN)]
    return torch.stack(spans).cpu().numpy().tobytes()


@functools.cache
def _factors(device: str) -> Tensor:
    raw = hashlib.shake_256(b"checksum factors").digest(8 * _SPAN)
    return torch.from_numpy(np.frombuffer(raw, dtype="<i8") | 1).to(device)
