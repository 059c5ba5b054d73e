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
from dataclasses import dataclass, replace

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
class Call:
    """One attention call: N pieces of S tokens, G query heads per KV head, the first W slots of N entries.

    entries: [N] of the store; None: all of them in order, or its only one each time.
    tokens: [N * S] of the pass; a piece that is not full repeats one. mask: [N, 1, G * S, W], 0 where a query may look
    and -inf elsewhere; None: everywhere.
    """

    store: KVStore
    entries: Tensor | None
    tokens: Tensor
    mask: Tensor | None
    pieces: int
    width: int


@dataclass(frozen=True)
class Part:
    """All that the tokens see of one level.

    back: [T] of a token among the results of the calls, one after the other. absent: [T] tokens that see nothing here.
    T counts the tokens that fill up a chunk: merging is of one shape as well.
    """

    calls: tuple[Call, ...]
    back: Tensor
    absent: Tensor | None


@dataclass(frozen=True)
class Packing:
    """The layout of one pass. row, position, place: [T] of each token; place is its slot in its row's own entry."""

    own: KVStore
    row: Tensor
    position: Tensor
    place: Tensor
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Shape:
    """What a packing needs to know of the network. fixed: calls of one shape."""

    groups: int
    dtype: torch.dtype
    device: torch.device
    fixed: bool = False


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
    parts = [_part(_looks(level, row), size, shape) for level in past]
    newest = _part([(own, row, place + 1)], size, shape)
    if newest:  # whatever fills up a chunk counts as present here, or it would have no result at all
        parts.append(replace(newest, absent=None))
    to = shape.device
    return Packing(
        own,
        torch.from_numpy(row).to(to),
        torch.from_numpy(position).to(to),
        torch.from_numpy(place).to(to),
        tuple(part for part in parts if part),
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


def _part(looks: Sequence[tuple[KVStore, Ints, Ints]], size: int, shape: Shape) -> Part | None:
    back = np.full(size, -1, dtype=np.int64)
    calls: list[Call] = []
    for store, entry, slots in looks:
        calls += _calls(store, entry, slots, back, sum(len(call.tokens) for call in calls), shape)
    if not calls:
        return None
    absent = torch.from_numpy(back < 0).to(shape.device) if (back < 0).any() else None
    return Part(tuple(calls), torch.from_numpy(back.clip(0)).to(shape.device), absent)


def _calls(store: KVStore, entry: Ints, slots: Ints, back: Ints, done: int, shape: Shape) -> list[Call]:
    """Calls over one store; writes into `back` where, after `done` results of others, each token's result lies."""
    there = np.flatnonzero(entry >= 0)
    if not len(there):
        return []
    block = -(-slots // SLOTS) if shape.fixed else np.zeros_like(slots)
    tokens = there[np.lexsort((there, entry[there], block[there]))]
    same = (np.diff(entry[tokens]) == 0) & (np.diff(block[tokens]) == 0)
    first = np.flatnonzero(np.r_[True, ~same])
    sizes = np.diff(np.r_[first, len(tokens)])
    size = PIECE if shape.fixed else min(_SIZES, key=lambda s: int((-(-sizes // s)).sum()) * (_PER_PIECE + s))
    pieces = -(-sizes // size)
    group = np.repeat(np.arange(len(first)), sizes)
    within = np.arange(len(tokens)) - first[group]
    piece = (np.cumsum(pieces) - pieces)[group] + within // size
    leads = tokens[np.flatnonzero(within % size == 0)]  # the first token of every piece
    grid = np.repeat(leads[:, None], size, axis=1)
    grid[piece, within % size] = tokens

    calls: list[Call] = []
    base = np.empty(len(leads), dtype=np.int64)
    for at in _cuts(block[leads], shape.fixed):
        base[at] = done + np.arange(len(at)) * size
        filled = np.r_[at, np.repeat(at[-1:], PIECES - len(at))] if shape.fixed else at
        width = int(block[leads[at[0]]]) * SLOTS if shape.fixed else int(slots[grid].max())
        calls.append(_call(store, entry[leads[filled]], grid[filled], slots[grid[filled]], width, shape))
        done += len(filled) * size
    back[tokens] = base[piece] + within % size
    return calls


def _cuts(block: Ints, fixed: bool) -> list[Ints]:
    """Pieces by call: all at once, or PIECES at most that look at equally many slots."""
    every = np.arange(len(block))
    if not fixed:
        return [every]
    alike = np.split(every, np.flatnonzero(np.diff(block)) + 1)
    return [some[at : at + PIECES] for some in alike for at in range(0, len(some), PIECES)]


def _call(store: KVStore, entry: Ints, grid: Ints, slots: Ints, width: int, shape: Shape) -> Call:
    whole = store.entries == 1 or (len(entry) == store.entries and bool((np.diff(entry) == 1).all()))
    mask = None
    if shape.fixed or int(slots.min()) < width:
        hidden = torch.from_numpy(np.arange(width) >= slots[:, :, None])
        mask = torch.zeros(hidden.shape, dtype=shape.dtype).masked_fill_(hidden, float("-inf"))
        mask = mask.repeat(1, shape.groups, 1)[:, None].to(shape.device)
    return Call(
        store,
        None if whole else torch.from_numpy(entry).to(shape.device),
        torch.from_numpy(grid.reshape(-1)).to(shape.device),
        mask,
        len(entry),
        width,
    )
