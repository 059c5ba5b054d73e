"""A small matrix per token: what members of one batch differ by."""

from __future__ import annotations

import torch
from torch import Tensor

_AT_ONCE = 1 << 24  # numbers of gathered matrices: 32 MB in bfloat16


def per_token(matrices: Tensor, slot: Tensor, x: Tensor) -> Tensor:
    """matrices[slot[t]] @ x[t] for each token t: [T, m].

    matrices: [S, m, n]; slot: [T], int64; x: [T, n]. Pieces bound the memory; no token's result depends on another.
    """
    _, rows, columns = matrices.shape
    step = max(1, _AT_ONCE // (rows * columns))
    pieces = [
        torch.bmm(matrices.index_select(0, some), states[:, :, None])[:, :, 0]
        for some, states in zip(slot.split(step), x.split(step), strict=True)
    ]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)
