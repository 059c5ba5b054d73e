"""The laws of noise, and how words become numbers that are added to a tensor.

    gaussian    element i is quantile k of the standard normal, k being bits 16 (i mod 4) to 16 (i mod 4) + 15 of word
                i div 4 of a stream. The table holds the 65,536 quantiles at (k + 1/2) / 65536, scaled to unit variance
                and rounded to fp32.
    rademacher  element i is +1 where bit i mod 64 of word i div 64 is set, otherwise -1.

Why the bits agree on all devices: words are integers (see `words.py`), the tables are made on the CPU, and what is done
to their numbers is one product and one sum per term, each an operation by itself and so rounded as IEEE 754 says.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from esagent.core.parallel import for_each
from esagent.core.words import LONGEST, cut, cut_on, fill, words_on

Law = Literal["gaussian", "rademacher"]
LAWS: tuple[Law, ...] = get_args(Law)

Stream = tuple[int, float | Tensor]
"""(key of a stream of words, weight): one number for all elements, or a float32 tensor with a number for each."""

_BITS = {"gaussian": 16, "rademacher": 8}  # of an index into the table
_CHUNK = 4 * LONGEST  # elements worked on at once: with the table they fit into a core's cache
_SERIAL = 1 << 14  # elements of which torch makes no work for its own threads
_DEVICE_CHUNK = 1 << 22  # the same on other devices, where starting a kernel costs more than memory does


class _Scratch(threading.local):
    """Buffers of one thread, kept from call to call."""

    def __init__(self) -> None:
        self.words = np.empty(LONGEST, np.uint64)
        self.spare = np.empty(LONGEST, np.uint64)
        self.index = np.empty(_CHUNK, np.intp)
        self.noise = np.empty(_CHUNK, np.float64)
        self.total = np.empty(_CHUNK, np.float64)


_scratch = _Scratch()


def by_numpy(base: Tensor, out: Tensor, law: Law, start: int, streams: Sequence[Stream]) -> None:
    """out = base + noise, through buffers that stay in the cache, on as many threads as torch may use. All on the CPU.

    Between its chunks nothing is left to torch's own threads, which would wait for more to do, and keep a core busy.
    """
    source = base.numpy()
    place = out.numpy() if out.dtype == base.dtype else None
    table = _table(law, source.dtype.name)
    weighted = [(stream, w.numpy() if isinstance(w, Tensor) else w) for stream, w in streams]

    def add(span: tuple[int, int]) -> None:
        low, high = (edge - start for edge in span)
        total = _scratch.total.view(source.dtype)[: high - low] if place is None else place[low:high]
        if base is not out:
            np.copyto(total, source[low:high])
        for stream, weight in weighted:
            noise = _noise(table, _BITS[law], stream, *span)
            np.multiply(noise, weight[low:high] if isinstance(weight, np.ndarray) else weight, out=noise)
            np.add(total, noise, out=total)
        if place is None:
            for at in range(0, high - low, _SERIAL):
                out[low + at : min(low + at + _SERIAL, high)] = torch.from_numpy(total[at : at + _SERIAL])

    end = start + len(source)
    first = start - start % _CHUNK + _CHUNK  # where the first chunk ends: all others start with a word
    for_each(add, list(itertools.pairwise([start, *range(first, end, _CHUNK), end])))


def _noise(table: np.ndarray, bits: int, stream: int, low: int, high: int) -> np.ndarray:
    """Elements [low, high) of a stream, at most _CHUNK, in the thread's own buffer."""
    per_word = 64 // bits * table.shape[1]
    first, last = low // per_word, -(-high // per_word)
    made, spare = _scratch.words[: last - first], _scratch.spare[: last - first]
    fill(made, spare, stream, first)
    index = _scratch.index[: len(made) * (64 // bits)]
    np.copyto(index, cut(made, bits))
    noise = _scratch.noise.view(table.dtype)[: len(made) * per_word]
    # Nothing is ever clipped: it is the mode in which numpy writes straight into `out`.
    np.take(table, index, axis=0, out=noise.reshape(-1, table.shape[1]), mode="clip")
    return noise[low - first * per_word : high - first * per_word]


def by_torch(base: Tensor, out: Tensor, law: Law, start: int, streams: Sequence[Stream]) -> None:
    """out = base + noise, chunk by chunk with a kernel per operation, on their device."""
    table = torch.from_numpy(_table(law, str(base.dtype).removeprefix("torch."))).to(base.device)
    per_word = 64 // _BITS[law] * table.shape[1]
    for low in range(0, len(base), _DEVICE_CHUNK):
        total = base[low : low + _DEVICE_CHUNK]
        first, last = (start + low) // per_word, -(-(start + low + len(total)) // per_word)
        skipped = start + low - first * per_word
        for stream, weight in streams:
            index = cut_on(words_on(base.device, stream, first, last - first), _BITS[law])
            noise = table[index].flatten()[skipped : skipped + len(total)]
            total = total + noise * (weight[low : low + len(total)] if isinstance(weight, Tensor) else weight)
        out[low : low + len(total)] = total


@functools.cache
def _table(law: Law, dtype: str) -> np.ndarray:
    """What an index stands for: [65536, 1] quantiles, or [256, 8] signs, of fp32 numbers in the type `dtype`.

    The quantiles are antisymmetric, of variance 1 and at most 4.33 in magnitude.
    """
    if law == "rademacher":
        bits = np.arange(256)[:, None] >> np.arange(8) & 1
        return (2.0 * bits - 1.0).astype(dtype)
    upper = ndtri((np.arange(32768, 65536) + 0.5) / 65536)
    upper = upper / np.sqrt(np.mean(upper**2))
    return np.concatenate([-upper[::-1], upper]).astype(np.float32).astype(dtype)[:, None]
