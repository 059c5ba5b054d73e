"""The checksum: by hand with Python integers, and sensitive to every number and its place."""

from __future__ import annotations

import hashlib
import struct

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.checksum import checksum

SPAN = 1 << 18


def by_hand(values: torch.Tensor) -> bytes:
    factors = struct.unpack(f"<{SPAN}Q", hashlib.shake_256(b"checksum factors").digest(8 * SPAN))
    bits = values.view(torch.int16 if values.dtype == torch.bfloat16 else torch.int32).tolist()
    sums = []
    for start in range(0, len(bits), SPAN):
        part = bits[start : start + SPAN]
        sums.append(sum(b * (factors[i] | 1) for i, b in enumerate(part)) % 2**64)
    return struct.pack(f"<{len(sums)}Q", *sums)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equals_the_sum_in_integers_of_any_size(dtype: torch.dtype) -> None:
    values = torch.linspace(-3, 5, SPAN + 100).to(dtype)
    assert checksum(values) == by_hand(values)
    assert len(checksum(values)) == 16


def test_is_the_same_for_any_number_of_threads() -> None:
    values = torch.linspace(-1, 1, 3 * SPAN)
    threads = torch.get_num_threads()
    try:
        found = set()
        for count in (1, 2):
            torch.set_num_threads(count)
            found.add(checksum(values))
    finally:
        torch.set_num_threads(threads)
    assert len(found) == 1


@given(st.lists(st.floats(width=32), min_size=2, max_size=40), st.integers(0, 39), st.integers(0, 39))
def test_a_number_that_differs_and_two_that_change_places_show(numbers: list[float], i: int, j: int) -> None:
    values = torch.tensor(numbers)
    i, j = i % len(numbers), j % len(numbers)
    bits = values.view(torch.int32)
    flipped = bits.clone()
    flipped[i] ^= 1
    assert checksum(flipped.view(torch.float32)) != checksum(values)
    swapped = bits.clone()
    swapped[i], swapped[j] = bits[j], bits[i]
    assert (checksum(swapped.view(torch.float32)) == checksum(values)) == torch.equal(swapped, bits)
