"""Layouts of passes and attention over parts, against plain attention over each token's whole past."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from esagent.backends.hf.attention import _in_the_open, _scaled_dot_product, attend
from esagent.backends.hf.packing import PIECE, PIECES, SLOTS, Packing, Shape, pack, pack_chunks
from esagent.backends.hf.store import KVStore, Source

KV_HEADS, GROUPS, DIM = 2, 3, 8
CHUNK = 16
SHAPE = Shape(KV_HEADS, GROUPS, torch.float32, torch.device("cpu"))


@dataclass
class World:
    """Rows with a past in shared stores, some of their tokens computed before, and new ones to compute."""

    past: list[list[Source | None]]
    own: KVStore
    starts: list[int]
    counts: list[int]


def store(entries: int, width: int) -> KVStore:
    return KVStore(3, torch.randn(2, 1, entries, width, KV_HEADS, DIM))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    torch.manual_seed(draw(st.integers(0, 99)))
    rows = draw(st.integers(1, 9))
    past: list[list[Source | None]] = []
    for _ in range(draw(st.integers(0, 2))):
        stores = [store(draw(st.integers(1, 3)), 128) for _ in range(draw(st.integers(1, 2)))]
        level: list[Source | None] = []
        for _ in range(rows):
            one = draw(st.sampled_from(stores))
            source = Source(one, draw(st.integers(0, one.entries - 1)), draw(st.integers(0, 100)))
            level.append(draw(st.sampled_from([source, None])))
        past.append(level)
    counts = draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows).filter(any))
    done = draw(st.lists(st.integers(0, 60), min_size=rows, max_size=rows))
    before = [sum(level[r].length for level in past if level[r]) for r in range(rows)]  # type: ignore[union-attr]
    return World(past, store(rows, 128), [b + d for b, d in zip(before, done, strict=True)], counts)


def expected(world: World, query: Tensor) -> Tensor:
    """Each token alone: softmax over the concatenation of everything it may look at, in fp64."""
    out, at = [], 0
    for row, (start, count) in enumerate(zip(world.starts, world.counts, strict=True)):
        sources = [level[row] for level in world.past if level[row]]
        before = sum(source.length for source in sources if source)
        for i in range(count):
            looks = [s.store.data[:, 0, s.entry, : s.length] for s in sources if s]
            looks.append(world.own.data[:, 0, row, : start + i + 1 - before])
            keys, values = torch.cat(looks, dim=1).double().transpose(1, 2).repeat_interleave(GROUPS, dim=1)
            scores = (keys @ query[at].double()[:, :, None])[..., 0] * 0.3
            out.append((torch.softmax(scores, -1)[:, None] @ values)[:, 0])
            at += 1
    return torch.stack(out).float()


def inputs(tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(tokens, KV_HEADS * GROUPS, DIM), *torch.randn(2, tokens, KV_HEADS, DIM)


@given(worlds())
def test_attention_in_parts_equals_attention_over_the_whole_past(world: World) -> None:
    query, key, value = inputs(sum(world.counts))
    packing = pack(world.own, world.past, world.starts, world.counts, SHAPE)
    got = attend(packing, 3, query, key, value, 0.3)
    torch.testing.assert_close(got, expected(world, query), atol=1e-5, rtol=1e-5)


@given(worlds())
def test_chunks_of_fixed_shape_give_the_same(world: World) -> None:
    query, key, value = inputs(sum(world.counts))
    shape = replace(SHAPE, fixed=True)
    got = []
    for i, packing in enumerate(pack_chunks(world.own, world.past, world.starts, world.counts, shape, CHUNK)):
        filled = [torch.cat([x[i * CHUNK : (i + 1) * CHUNK], torch.full((CHUNK, *x.shape[1:]), 9e9)])[:CHUNK] for x in
                  (query, key, value)]  # fmt: skip
        got.append(attend(packing, 3, *filled, 0.3))
        assert got[-1].shape == query[:1].expand(CHUNK, -1, -1).shape
        assert calls_are_of_one_shape(packing)
    torch.testing.assert_close(torch.cat(got)[: len(query)], expected(world, query), atol=1e-5, rtol=1e-5)


def calls_are_of_one_shape(packing: Packing) -> bool:
    shapes = [call.mask.shape for call in packing.calls if call.mask is not None]
    return len(shapes) == len(packing.calls) and all(
        s[:3] == (PIECES, 1, GROUPS * PIECE) and s[3] % SLOTS == 0 for s in shapes
    )


@given(worlds())
def test_a_packing_names_every_token_once_and_where_it_goes(world: World) -> None:
    packing = pack(world.own, world.past, world.starts, world.counts, SHAPE)
    rows = np.repeat(np.arange(len(world.counts)), world.counts)
    assert packing.row.tolist() == rows.tolist()
    assert packing.position.tolist() == [
        s + i for s, c in zip(world.starts, world.counts, strict=True) for i in range(c)
    ]
    before = [sum(s.length for level in world.past if (s := level[r])) for r in rows]
    slots = [p - b + r * 128 for p, b, r in zip(packing.position.tolist(), before, rows, strict=True)]
    assert packing.slots.tolist() == slots
    heads = KV_HEADS * GROUPS
    assert packing.back.numel() == packing.levels * len(rows) * heads
    # Every result that is taken is of the very query it is taken for.
    asked = torch.cat([*(call.asked for call in packing.calls), torch.tensor([-1])])
    taken = asked[packing.back].view(packing.levels, -1)
    wanted = torch.arange(len(rows) * heads).expand_as(taken)
    assert bool(((taken == wanted) | (taken == -1)).all())
    assert bool((taken[-1] == wanted[-1]).all())


@pytest.mark.parametrize("masked", [False, True])
def test_the_kernel_and_plain_operations_agree(masked: bool) -> None:
    torch.manual_seed(0)
    query, keys, values = (torch.randn(4, KV_HEADS, n, DIM) for n in (5, 11, 11))
    mask = torch.zeros(4, 1, 5, 11).masked_fill_(torch.arange(11) > 6, float("-inf")) if masked else None
    for one, other in zip(
        _scaled_dot_product(query, keys, values, mask, 0.3), _in_the_open(query, keys, values, mask, 0.3), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_picked_entries_keep_what_is_in_use_and_forget_the_rest() -> None:
    whole = store(4, 6)
    picked = whole.select(torch.tensor([2, 0, 2]), 3)
    assert torch.equal(picked.data[:, :, :, :3], whole.data[:, :, [2, 0, 2], :3])
    assert picked.width == 6
    assert not picked.data[:, :, :, 3:].any()
