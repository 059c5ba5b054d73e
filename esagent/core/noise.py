"""Counter-based noise: every random number is a pure function of a key and an index.

Element i of a tensor's noise depends on (law, direction seed, tensor name, i) alone: never on chunk size, thread count,
device, partition or call order. The same function serves perturbation, update, replay and audit.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from esagent.core.laws import Law, by_numpy, by_torch
from esagent.core.words import cut, cut_on, words, words_on

Term = tuple[int, float | Tensor]
"""(direction seed, weight): one number for all elements, or a float32 tensor with a number for each."""


def key(*parts: int | str) -> int:
    """A 64-bit key from any sequence of integers and strings; distinct sequences give independent keys.

    BLAKE2b over a length-prefixed encoding, so ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        raw = f"{type(part).__name__}:{part}".encode()
        digest.update(len(raw).to_bytes(4, "little") + raw)
    return int.from_bytes(digest.digest(), "little")


@functools.lru_cache(maxsize=1 << 16)  # arms of a study share their seeds
def direction_seed(run_seed: int, step: int, direction: int) -> int:
    """Key of one direction of one step. Antithetic twins share it."""
    return key("direction", run_seed, step, direction)


def partition_key(run_seed: int, step: int) -> int:
    """Key of the partition that a step draws, where a space draws its blocks anew."""
    return key("partition", run_seed, step)


def add_noise(
    base: Tensor, law: Law, tensor: str, start: int, terms: Sequence[Term], *, out: Tensor | None = None
) -> Tensor:
    """base[j] + sum over (seed, weight) of weight * noise of element start + j of `tensor` under `seed`: [n].

    base: [n], float32 or float64; products and sums are of that type, term after term in their order.
    out: where to write it, contiguous: base itself (in place), or a tensor of any floating format, to which the sum is
    rounded to nearest; a new tensor like base by default.
    Beside it no memory grows with n: noise is made chunk by chunk, on the CPU on torch's number of threads.
    Raises ValueError for tensors of another kind.
    """
    if out is None:
        out = torch.empty(base.shape, dtype=base.dtype, device=base.device)
    if base.dim() != 1 or base.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"noise is added to float32 or float64 [n], not to {base.dtype} {list(base.shape)}")
    if out.shape != base.shape or not out.is_contiguous() or not out.is_floating_point():
        raise ValueError(f"out must be contiguous floating-point {list(base.shape)}, not {out.dtype} {list(out.shape)}")
    label = "noise" if law == "gaussian" else law
    streams = [
        (key(label, seed, tensor), weight) for seed, weight in terms if isinstance(weight, Tensor) or weight != 0.0
    ]
    add = by_numpy if out.device.type == "cpu" else by_torch
    add(base, out, law, start, streams)
    return out


def draw(law: Law, seed: int, tensor: str, start: int, count: int, device: torch.device | str = "cpu") -> Tensor:
    """Elements [start, start + count) of the unit-variance noise of `tensor` under `seed`: float32 [count]."""
    return add_noise(torch.zeros((), device=device).expand(count), law, tensor, start, [(seed, 1.0)])


def gaussian(seed: int, tensor: str, start: int, count: int, device: torch.device | str = "cpu") -> Tensor:
    """`draw` of the standard normal law."""
    return draw("gaussian", seed, tensor, start, count, device)


def parts(partition: int, tensor: str, start: int, count: int, k: int, device: torch.device | str = "cpu") -> Tensor:
    """Which of `k` parts each of the elements [start, start + count) of `tensor` falls into: int64 [count].

    Elements are drawn independently, so a part of d elements in all holds d/k of them up to sqrt(d (k - 1)) / k.
    """
    stream, device = key("part", partition, tensor), torch.device(device)
    first, last = start // 4, -(-(start + count) // 4)
    here = slice(start - 4 * first, start - 4 * first + count)
    if device.type == "cpu":
        halves = torch.from_numpy(cut(words(stream, first, last - first), 16)[here].astype(np.int64))
    else:
        halves = cut_on(words_on(device, stream, first, last - first), 16)[here]
    return halves.mul_(k).bitwise_right_shift_(16)


def uniform(seed: int, count: int) -> np.ndarray:
    """`count` doubles in [0, 1) under `seed`, for choices made outside tensors (task order, sampling)."""
    return (words(key("uniform", seed), 0, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(seed: int, n: int) -> list[int]:
    """A permutation of range(n) under `seed`: the order of n independent 64-bit words."""
    return [int(i) for i in np.argsort(words(key("permutation", seed), 0, n), kind="stable")]
