"""How the new tokens of many rows lie in one pass, and what each of them looks at.

A *row* is one sequence under one set of parameters. Linear layers see all rows' tokens as one flat list, without
padding. Attention sees *pieces*: up to S tokens that look at the same entry of a store, so that what many rows have in
common (a few-shot prefix, a prompt) is kept once and read once for all of them. A token's results over the parts of its
past are merged by their log-sum-exp, which is exact.

With fixed shapes, all tokens of a call look at a number of slots that follows from each token's own past alone, and
a call has one shape whatever it holds: what a token gets then depends on no other, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from esagent.backends.hf.store import KVStore, Source

Ints = NDArray[np.int64]
Past = Sequence[Sequence[Source | None]]
"""Levels of what lies before the rows' own store, oldest first: of each row a source, or None."""

SLOTS = 64  # with fixed shapes a call looks at a multiple of so many slots
PIECE = 4  # ... in pieces of so many tokens
PIECES = 16  # ... and so many pieces
_SIZES = (1, 4, 16, 64)
_PER_PIECE = 8  # a piece costs about as much as so many tokens in it


@dataclass(frozen=True)
class Shape:
    """What a packing needs to know of the network. groups: query heads per KV head. fixed: calls of one shape."""

    kv_heads: int
    groups: int
    dtype: torch.dtype
    device: torch.device
    fixed: bool = False


@dataclass(frozen=True)
class Call:
    """One attention call: N pieces of S tokens, H KV heads with G query heads each, the first `width` slots.

    entries: [N] of the store; None: all of them in order, or its only one each time.
    asked: [N * H * G * S] queries, as token * (H * G) + head; a piece that is not full repeats a token.
    mask: [N, 1, G * S, width], 0 where a query may look and -inf elsewhere; None: everywhere.
    """

    store: KVStore
    entries: Tensor | None
    asked: Tensor
    mask: Tensor | None
    pieces: int
    width: int


@dataclass(frozen=True)
class Packing:
    """The layout of one pass.

    row, position: [T] of each token. slots: [T] of `own` that they fill, counted over all its entries.
    back: [L * T * H * G] of each level, token and head the result among those of all calls, one after the other; one
    behind the last where a token sees nothing of a level. T counts here what fills up a chunk as well.
    """

    own: KVStore
    row: Tensor
    position: Tensor
    slots: Tensor
    calls: tuple[Call, ...]
    back: Tensor
    levels: int


def pack(own: KVStore, past: Past, starts: Sequence[int], counts: Sequence[int], shape: Shape) -> Packing:
    """Row r brings counts[r] new tokens at positions starts[r], starts[r] + 1, ..."""
    return pack_chunks(own, past, starts, counts, shape, sum(counts))[0]


def pack_chunks(
    own: KVStore, past: Past, starts: Sequence[int], counts: Sequence[int], shape: Shape, size: int
) -> list[Packing]:
    """The same for every `size` tokens, in order; a row may go on in the next chunk."""
    number, start = np.asarray(counts, dtype=np.int64), np.asarray(starts, dtype=np.int64)
    row = np.repeat(np.arange(len(number)), number)
    position = start[row] + np.arange(len(row)) - (np.cumsum(number) - number)[row]
    before = np.array([sum(s.length for s in sources if s) for sources in zip(*past, strict=True)], dtype=np.int64)
    place = position - before[row] if past else position
    return [
        _packing(own, past, row[at : at + size], position[at : at + size], place[at : at + size], shape, size)
        for at in range(0, len(row), size)
    ]


def _packing(own: KVStore, past: Past, row: Ints, position: Ints, place: Ints, shape: Shape, size: int) -> Packing:
    build = _Calls(shape)
    backs = [build.level(_looks(level, row), size) for level in past]
    backs.append(build.level([(own, row, place + 1)], size))
    seen = [back for back in backs if (back >= 0).any()]
    # What fills up a chunk sees nothing; it is given the first token's results, for a merge of nothing is undefined.
    seen[-1][len(row) :] = seen[-1][:1]
    back = np.concatenate(seen).reshape(-1)
    back[back < 0] = build.results
    return Packing(
        own=own,
        row=torch.from_numpy(row).to(shape.device),
        position=torch.from_numpy(position).to(shape.device),
        slots=torch.from_numpy(row * own.width + place).to(shape.device),
        calls=tuple(build.calls),
        back=torch.from_numpy(back).to(shape.device),
        levels=len(seen),
    )


def _looks(level: Sequence[Source | None], row: Ints) -> list[tuple[KVStore, Ints, Ints]]:
    """By store: of each token the entry it looks at (-1: none) and how many slots of it."""
    stores = {id(source.store): source.store for source in level if source and source.length}
    out = []
    for store in stores.values():
        mine = [(s.entry, s.length) if s and s.length and s.store is store else (-1, 0) for s in level]
        entry, length = np.array(mine, dtype=np.int64).T
        out.append((store, entry[row], length[row]))
    return out


@dataclass
class _Calls:
    """The calls of a pass as they are found, and how many results (a head of a token each) they have in all."""

    shape: Shape
    calls: list[Call] = field(default_factory=list)
    results: int = 0

    def level(self, looks: Sequence[tuple[KVStore, Ints, Ints]], size: int) -> Ints:
        """Add the calls of a level. Returns [size, heads]: where the results of each token lie, -1 for none."""
        heads = self.shape.kv_heads * self.shape.groups
        back = np.full((size, heads), -1, dtype=np.int64)
        for store, entry, slots in looks:
            there = np.flatnonzero(entry >= 0)
            if len(there):
                back[there] = self._store(store, there, entry[there], slots)
        return back

    def _store(self, store: KVStore, tokens: Ints, entry: Ints, slots: Ints) -> Ints:
        """Calls over one store for `tokens`, which look at `entry`; slots: [T] of all tokens of the pass."""
        fixed = self.shape.fixed
        block = -(-slots[tokens] // SLOTS) if fixed else np.zeros_like(entry)
        order = np.lexsort((tokens, entry, block))
        tokens, entry, block = tokens[order], entry[order], block[order]
        first = np.flatnonzero(np.r_[True, (np.diff(entry) != 0) | (np.diff(block) != 0)])
        sizes = np.diff(np.r_[first, len(tokens)])
        size = PIECE if fixed else min(_SIZES, key=lambda s: int((-(-sizes // s)).sum()) * (_PER_PIECE + s))
        pieces = -(-sizes // size)
        group = np.repeat(np.arange(len(first)), sizes)
        within = np.arange(len(tokens)) - first[group]
        piece, within = (np.cumsum(pieces) - pieces)[group] + within // size, within % size
        leads = np.flatnonzero(within == 0)  # the first token of every piece
        grid = np.repeat(tokens[leads, None], size, axis=1)
        grid[piece, within] = tokens

        heads = np.arange(self.shape.kv_heads * self.shape.groups)
        base = np.empty(len(leads), dtype=np.int64)
        for some in _cuts(block[leads], fixed):
            filled = np.r_[some, np.repeat(some[-1:], PIECES - len(some))] if fixed else some
            base[some] = self.results + np.arange(len(some)) * len(heads) * size
            width = int(block[leads[some[0]]]) * SLOTS if fixed else int(slots[grid[some]].max())
            self.calls.append(_call(store, entry[leads[filled]], grid[filled], slots[grid[filled]], width, self.shape))
            self.results += len(filled) * len(heads) * size
        back = np.empty((len(tokens), len(heads)), dtype=np.int64)
        back[order] = base[piece][:, None] + heads * size + within[:, None]
        return back


def _cuts(block: Ints, fixed: bool) -> list[Ints]:
    """Pieces by call: all at once, or PIECES at most that look at equally many slots."""
    every = np.arange(len(block))
    if not fixed:
        return [every]
    alike = np.split(every, np.flatnonzero(np.diff(block)) + 1)
    return [some[at : at + PIECES] for some in alike for at in range(0, len(some), PIECES)]


def _call(store: KVStore, entry: Ints, grid: Ints, slots: Ints, width: int, shape: Shape) -> Call:
    whole = store.entries == 1 or (len(entry) == store.entries and bool((np.diff(entry) == 1).all()))
    heads = np.arange(shape.kv_heads * shape.groups)
    mask = None
    if shape.fixed or int(slots.min()) < width:
        hidden = torch.from_numpy(np.arange(width) >= slots[:, :, None])
        mask = torch.zeros(hidden.shape, dtype=shape.dtype).masked_fill_(hidden, float("-inf"))
        mask = mask.repeat(1, shape.groups, 1)[:, None].to(shape.device)
    return Call(
        store=store,
        entries=None if whole else torch.from_numpy(entry).to(shape.device),
        asked=torch.from_numpy((grid[:, None] * len(heads) + heads[:, None]).reshape(-1)).to(shape.device),
        mask=mask,
        pieces=len(entry),
        width=width,
    )
