"""How rows of different length lie in one batch without padding, and where their keys and values live.

A *row* is one sequence under one set of parameters. Linear layers see all rows' tokens as one flat list (no padding);
attention sees the same queries padded to [rows, longest] against the rows' key/value store. A token's slot in that
store is its absolute position, so a causal mask is `index <= position` whatever a row's history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from esagent.backends.hf.fixed import FixedPacking

_FEW_QUERIES = 256
"""Query rows per KV head up to which a CPU multiplies scores and values plainly."""


@dataclass(frozen=True)
class Packing:
    """The layout of one forward pass. T tokens, R rows, L the most new tokens of a row, G query heads per KV head.

    row, position: [T] of each token.
    padded: [R, L] flat index of each row's l-th new token (any valid index where there is none).
    valid: [T] index into the flattened [R, L] grid, to come back from padded to flat.
    mask: additive [R, 1, G * L, K], 0 where a query may look and -inf elsewhere.
    """

    row: Tensor
    position: Tensor
    padded: Tensor
    valid: Tensor
    mask: Tensor

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, scaling: float) -> Tensor:
        """query: [T, heads, dim]; keys, values: [R, kv_heads, K, dim]. Returns [T, heads, dim].

        Query heads that share a KV head are folded into the query axis, so keys are read once for all of them.
        """
        heads, kv_heads, dim = query.shape[1], keys.shape[1], query.shape[2]
        rows, longest = self.padded.shape
        groups = heads // kv_heads
        flat = query.index_select(0, self.padded.flatten())
        folded = flat.view(rows, longest, kv_heads, groups, dim).permute(0, 2, 3, 1, 4).reshape(rows, kv_heads, -1, dim)
        width = self.mask.shape[-1]
        out = _attention(folded, keys[:, :, :width], values[:, :, :width], self.mask, scaling)
        back = out.view(rows, kv_heads, groups, longest, dim).permute(0, 3, 1, 2, 4).reshape(-1, heads, dim)
        return back.index_select(0, self.valid)


def pack(
    starts: Sequence[int], counts: Sequence[int], groups: int, dtype: torch.dtype, device: torch.device
) -> Packing:
    """Row r brings `counts[r]` new tokens at positions starts[r], starts[r] + 1, ..."""
    start = torch.tensor(starts, dtype=torch.int64)
    count = torch.tensor(counts, dtype=torch.int64)
    longest = int(count.max())
    width = int((start + count).max())
    within = torch.arange(longest)
    there = within[None, :] < count[:, None]
    first = torch.cumsum(count, 0) - count
    padded = (first[:, None] + torch.minimum(within[None, :], count[:, None] - 1)).clamp_(0, int(count.sum()) - 1)
    positions = start[:, None] + within[None, :]
    blocked = torch.arange(width)[None, None, :] > positions[:, :, None]
    mask = torch.zeros(blocked.shape, dtype=dtype).masked_fill_(blocked, float("-inf"))
    return Packing(
        row=torch.repeat_interleave(torch.arange(len(starts)), count).to(device),
        position=positions[there].to(device),
        padded=padded.to(device),
        valid=there.flatten().nonzero().flatten().to(device),
        mask=mask.repeat(1, groups, 1)[:, None].to(device),
    )


class KVStore:
    """Keys and values of R rows for layers [low, high): two lists of [R, kv_heads, K, head_dim] tensors."""

    def __init__(self, low: int, keys: list[Tensor], values: list[Tensor]) -> None:
        self.low = low
        self.keys = keys
        self.values = values

    @classmethod
    def empty(
        cls,
        low: int,
        high: int,
        shape: tuple[int, int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        full: int = 0,
    ) -> KVStore:
        """A store of zeros (masked slots must hold finite numbers). shape: rows, kv_heads, K, head_dim.

        full: the first so many slots of every row will be written before anyone reads; they are left as they are.
        """

        def make() -> list[Tensor]:
            out = [torch.empty(shape, dtype=dtype, device=device) for _ in range(low, high)]
            for tensor in out:
                tensor[:, :, full:].zero_()
            return out

        return cls(low, make(), make())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.keys[0].shape[0] if self.keys else 0

    @property
    def width(self) -> int:
        """Slots per row."""
        return self.keys[0].shape[2] if self.keys else 0

    def select(self, rows: Tensor) -> KVStore:
        """A copy of some rows, in the given order."""
        return KVStore(
            self.low, [k.index_select(0, rows) for k in self.keys], [v.index_select(0, rows) for v in self.values]
        )

    def copy_from(self, source: KVStore, rows: Tensor | None, source_rows: Tensor) -> None:
        """Write rows of `source` (all its slots) into `rows` of this store; None: into all rows, in order."""
        width = source.width
        for mine, theirs in ((self.keys, source.keys), (self.values, source.values)):
            for target, origin in zip(mine, theirs, strict=True):
                picked = origin.index_select(0, source_rows)
                if rows is None:
                    target[:, :, :width] = picked
                else:
                    target[rows, :, :width] = picked

    def resized(self, width: int) -> KVStore:
        """The same rows with at least `width` slots."""
        grow = width - self.width
        if grow <= 0:
            return self
        return KVStore(
            self.low, [F.pad(k, (0, 0, 0, grow)) for k in self.keys], [F.pad(v, (0, 0, 0, grow)) for v in self.values]
        )

    @classmethod
    def concatenate(cls, stores: Sequence[KVStore], width: int) -> KVStore:
        """Rows of several stores, in order, with `width` slots each at least."""
        wide = [s.resized(max(width, *(t.width for t in stores))) for s in stores]
        layers = range(len(wide[0].keys))
        return cls(
            wide[0].low,
            [torch.cat([s.keys[i] for s in wide]) for i in layers],
            [torch.cat([s.values[i] for s in wide]) for i in layers],
        )

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        packing: Packing | FixedPacking,
        scaling: float,
    ) -> Tensor:
        """Write the new keys and values, then attend.

        query: [T, heads, dim]; key, value: [T, kv_heads, dim]. Returns [T, heads, dim].
        """
        keys, values = self.keys[layer - self.low], self.values[layer - self.low]
        real = len(packing.row)
        keys[packing.row, :, packing.position] = key[:real]
        values[packing.row, :, packing.position] = value[:real]
        return packing.attend(query, keys, values, scaling)


def _attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scaling: float) -> Tensor:
    """Attention of queries [R, H, Q, D] over keys and values [R, H, K, D] under an additive mask [R, 1, Q, K].

    A CPU's fused kernel is made for long queries; with the few of a decoding step two plain products are twice as fast.
    """
    rows, heads, count, dim = query.shape
    if query.device.type != "cpu" or count > _FEW_QUERIES:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scaling)
    flat = (rows * heads, count, -1)
    scores = torch.baddbmm(
        mask.expand(-1, heads, -1, -1).reshape(flat),
        query.reshape(flat),
        keys.reshape(rows * heads, -1, dim).transpose(1, 2),
        alpha=scaling,
    )
    return torch.bmm(scores.softmax(-1), values.reshape(rows * heads, -1, dim)).view(rows, heads, count, dim)
