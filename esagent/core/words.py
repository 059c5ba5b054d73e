"""64-bit words of keyed streams: SplitMix64, the same integers on every device.

Word i of stream s is mix(s + (i + 1) g mod 2^64) with g = 0x9E3779B97F4A7C15 and

    mix(x):  x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31

(Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"). A word is a pure function of (s, i). Only
additions, products, logical shifts and xors of integers modulo 2^64 occur: nothing that a device could round in its own
way. numpy computes them on the CPU, over buffers that stay in the cache; torch on any other device.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

LONGEST = 1 << 14
"""Words that one call of `fill` makes at most."""

_MASK = (1 << 64) - 1
_WEYL = 0x9E3779B97F4A7C15
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST = 31
_RAMP = np.arange(1, LONGEST + 1, dtype=np.uint64) * np.uint64(_WEYL)


def fill(words: np.ndarray, spare: np.ndarray, stream: int, start: int) -> None:
    """Write the words from `start` on into `words`. Both are uint64 [n], n at most LONGEST; `spare` is scratch."""
    np.add(_RAMP[: len(words)], np.uint64((stream + start * _WEYL) & _MASK), out=words)
    for shift, factor in _ROUNDS:
        np.right_shift(words, shift, out=spare)
        np.bitwise_xor(words, spare, out=words)
        np.multiply(words, factor, out=words)
    np.right_shift(words, _LAST, out=spare)
    np.bitwise_xor(words, spare, out=words)


def words(stream: int, start: int, count: int) -> np.ndarray:
    """Words [start, start + count): uint64 [count]."""
    made, spare = np.empty(count, np.uint64), np.empty(min(count, LONGEST), np.uint64)
    for at in range(0, count, LONGEST):
        part = made[at : at + LONGEST]
        fill(part, spare[: len(part)], stream, start + at)
    return made


def cut(made: np.ndarray, bits: int) -> np.ndarray:
    """The words cut into numbers of so many bits, lowest bits first. No copy where the processor is little-endian."""
    return made.astype("<u8", copy=False).view(f"<u{bits // 8}")


def words_on(device: torch.device, stream: int, start: int, count: int) -> Tensor:
    """The same words as int64 [count] on `device`: torch's signed arithmetic wraps modulo 2^64 too."""
    x = torch.arange(start + 1, start + count + 1, dtype=torch.int64, device=device)
    x = x * _signed(_WEYL) + _signed(stream)
    for shift, factor in _ROUNDS:
        x = (x ^ _logical_shift(x, shift)) * _signed(factor)
    return x ^ _logical_shift(x, _LAST)


def cut_on(made: Tensor, bits: int) -> Tensor:
    """The same of what `words_on` made, as int64."""
    shifts = torch.arange(0, 64, bits, device=made.device)
    return ((made[:, None] >> shifts) & ((1 << bits) - 1)).flatten()


def _logical_shift(x: Tensor, bits: int) -> Tensor:
    """torch's own right shift copies the sign bit, which the mask takes away."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << 64) if value >= 1 << 63 else value
