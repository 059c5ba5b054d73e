"""Attention in calls of one fixed shape: what a token gets depends on its own text alone, not on its neighbours.

Floating-point sums depend on how a kernel splits them, and a kernel splits them by the shape of its input. So under
`backend.deterministic` a pass is cut into chunks of exactly `chunk` tokens (the last one filled up), which fixes the
shape of every product, and attention runs in calls of `CALLS` pieces of up to `PIECE` tokens of one row. All tokens of
a piece look at the same number of slots, a multiple of `SLOTS` that follows from each token's own position; slots
beyond a token's position weigh exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

SLOTS = 64
PIECE = 4
CALLS = 16


@dataclass(frozen=True)
class _Call:
    """One attention call. N pieces, S tokens a piece, G query heads per KV head, K slots.

    rows: [N] of the store. tokens: [N * S] indices into the chunk. back: where the real ones lie among these N * S, and
    real: which tokens of the chunk they are. mask: [N, 1, G * S, K], 0 where a query may look and -inf elsewhere.
    """

    rows: Tensor
    tokens: Tensor
    back: Tensor
    real: Tensor
    mask: Tensor


@dataclass(frozen=True)
class FixedPacking:
    """The layout of a chunk. row, position: [T] of its real tokens, which come first; `chunk` tokens in all."""

    row: Tensor
    position: Tensor
    chunk: int
    calls: tuple[_Call, ...]

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, scaling: float) -> Tensor:
        """query: [chunk, heads, dim]; keys, values: [R, kv_heads, K, dim]. Returns [chunk, heads, dim]."""
        out = torch.zeros_like(query)
        kv_heads, heads, dim = keys.shape[1], query.shape[1], query.shape[2]
        groups = heads // kv_heads
        for call in self.calls:
            width = call.mask.shape[-1]
            asked = query.index_select(0, call.tokens).view(CALLS, PIECE, kv_heads, groups, dim)
            got = F.scaled_dot_product_attention(
                asked.permute(0, 2, 3, 1, 4).reshape(CALLS, kv_heads, -1, dim),
                keys[:, :, :width].index_select(0, call.rows),
                values[:, :, :width].index_select(0, call.rows),
                attn_mask=call.mask,
                scale=scaling,
            )
            flat = got.view(CALLS, kv_heads, groups, PIECE, dim).permute(0, 3, 1, 2, 4).reshape(-1, heads, dim)
            out[call.real] = flat.index_select(0, call.back)
        return out


def pack_fixed(
    starts: Sequence[int], counts: Sequence[int], chunk: int, groups: int, dtype: torch.dtype, device: torch.device
) -> list[FixedPacking]:
    """Row r brings `counts[r]` new tokens at positions starts[r], starts[r] + 1, ...; one layout per chunk of them."""
    rows = [row for row, count in enumerate(counts) for _ in range(count)]
    places = [start + i for start, count in zip(starts, counts, strict=True) for i in range(count)]
    return [
        _layout(rows[at : at + chunk], places[at : at + chunk], chunk, groups, dtype, device)
        for at in range(0, len(rows), chunk)
    ]


def _layout(
    rows: Sequence[int], places: Sequence[int], chunk: int, groups: int, dtype: torch.dtype, device: torch.device
) -> FixedPacking:
    pieces: dict[int, list[list[int]]] = {}
    for token, (row, place) in enumerate(zip(rows, places, strict=True)):
        alike = pieces.setdefault(place // SLOTS, [])
        if not alike or len(alike[-1]) == PIECE or rows[alike[-1][0]] != row:
            alike.append([])
        alike[-1].append(token)
    calls = [
        _call(found[at : at + CALLS], rows, places, (block + 1) * SLOTS, groups, dtype, device)
        for block, found in sorted(pieces.items())
        for at in range(0, len(found), CALLS)
    ]
    return FixedPacking(torch.tensor(rows, device=device), torch.tensor(places, device=device), chunk, tuple(calls))


def _call(
    pieces: Sequence[Sequence[int]],
    rows: Sequence[int],
    places: Sequence[int],
    width: int,
    groups: int,
    dtype: torch.dtype,
    device: torch.device,
) -> _Call:
    filled = [*pieces, *[pieces[0]] * (CALLS - len(pieces))]
    tokens = [piece[min(i, len(piece) - 1)] for piece in filled for i in range(PIECE)]
    back = [PIECE * n + i for n, piece in enumerate(pieces) for i in range(len(piece))]
    position = torch.tensor([places[token] for token in tokens]).view(CALLS, PIECE, 1)
    mask = torch.zeros(CALLS, PIECE, width, dtype=dtype).masked_fill_(torch.arange(width) > position, float("-inf"))
    return _Call(
        rows=torch.tensor([rows[piece[0]] for piece in filled], device=device),
        tokens=torch.tensor(tokens, device=device),
        back=torch.tensor(back, device=device),
        real=torch.tensor([token for piece in pieces for token in piece], device=device),
        mask=mask.repeat(1, groups, 1)[:, None].to(device),
    )
