"""Counter-based noise: every random number is a pure function of a key and an index.

Element i of a tensor's noise depends on (direction seed, tensor name, i) alone: never on chunk size, thread count,
device, dtype, partition or call order. The same function serves perturbation, update, replay and audit.

One 64-bit hash gives four 16-bit indices into a table of the normal quantiles at (k + 1/2) / 65536, scaled to unit
variance. The hash is the SplitMix64 finaliser (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
generators") over a Weyl sequence started at the key.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

_MASK = (1 << 64) - 1
_WEYL = 0x9E3779B97F4A7C15
_MIX1 = 0xBF58476D1CE4E5B9
_MIX2 = 0x94D049BB133111EB


def key(*parts: int | str) -> int:
    """A 64-bit key from any sequence of integers and strings; distinct sequences give independent keys.

    BLAKE2b over a length-prefixed encoding, so ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        raw = f"{type(part).__name__}:{part}".encode()
        digest.update(len(raw).to_bytes(4, "little") + raw)
    return int.from_bytes(digest.digest(), "little")


def direction_seed(run_seed: int, step: int, direction: int) -> int:
    """Key of one direction of one step. Antithetic twins share it."""
    return key("direction", run_seed, step, direction)


def partition_key(run_seed: int, step: int) -> int:
    """Key of the partition that a step draws, where a space draws its blocks anew."""
    return key("partition", run_seed, step)


def gaussian(seed: int, tensor: str, start: int, count: int, device: torch.device | str = "cpu") -> Tensor:
    """Elements [start, start + count) of the standard normal noise of `tensor` under direction `seed`.

    Returns a float32 tensor of shape [count], the same bits on every device.
    """
    index = _halfwords(key("noise", seed, tensor), start, count, torch.device(device))
    return _quantiles(str(index.device))[index]


def parts(partition: int, tensor: str, start: int, count: int, k: int, device: torch.device | str = "cpu") -> Tensor:
    """Which of `k` parts each of the elements [start, start + count) of `tensor` falls into: int64 [count].

    Elements are drawn independently, so a part of d elements in all holds d/k of them up to sqrt(d (k - 1)) / k.
    """
    words = _halfwords(key("part", partition, tensor), start, count, torch.device(device))
    return (words * k) >> 16


def uniform(seed: int, count: int) -> np.ndarray:
    """`count` doubles in [0, 1) under `seed`, for choices made outside tensors (task order, sampling)."""
    words = _hash(key("uniform", seed), 0, count, torch.device("cpu")).numpy().view(np.uint64)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(seed: int, n: int) -> list[int]:
    """A permutation of range(n) under `seed`: the order of n independent 64-bit words."""
    words = _hash(key("permutation", seed), 0, n, torch.device("cpu")).numpy().view(np.uint64)
    return [int(i) for i in np.argsort(words, kind="stable")]


def _halfwords(stream: int, start: int, count: int, device: torch.device) -> Tensor:
    """16-bit words [start, start + count) of a stream, four from each hash, as int64."""
    first, last = start // 4, (start + count + 3) // 4
    words = _hash(stream, first, last - first, device)
    shifts = torch.tensor([0, 16, 32, 48], dtype=torch.int64, device=device)
    offset = start - 4 * first
    return ((words[:, None] >> shifts) & 0xFFFF).flatten()[offset : offset + count]


def _hash(seed: int, start: int, count: int, device: torch.device) -> Tensor:
    """SplitMix64 words [start, start + count) of the stream `seed`, as int64 (arithmetic wraps modulo 2^64)."""
    x = torch.arange(start + 1, start + count + 1, dtype=torch.int64, device=device)
    x = x * _signed(_WEYL) + _signed(seed)
    x = (x ^ _shift(x, 30)) * _signed(_MIX1)
    x = (x ^ _shift(x, 27)) * _signed(_MIX2)
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift of int64 (torch's own shift copies the sign bit)."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << 64) if value >= 1 << 63 else value


@functools.cache
def _quantiles(device: str) -> Tensor:
    """The 65,536 normal quantiles, float32; antisymmetric, variance 1. Largest magnitude 4.3 sigma."""
    upper = ndtri((np.arange(32768, 65536) + 0.5) / 65536)
    upper = upper / np.sqrt(np.mean(upper**2))
    return torch.from_numpy(np.concatenate([-upper[::-1], upper]).astype(np.float32)).to(device)
