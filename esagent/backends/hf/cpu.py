"""What makes a CPU fast: weights packed once for its matrix unit, and freed memory kept for the next batch."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch
from torch import Tensor, nn

_PACKED_FOR_ROWS = 64  # the layout suits small and large batches alike; decoding is where it pays
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of glibc's mallopt
_KEEP = 2**31 - 1


def keep_freed_memory() -> None:
    """Have glibc reuse large blocks instead of giving them back: touching fresh pages costs as much as a product."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # absent where the C library is not glibc
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 30)
        mallopt(_TRIM_THRESHOLD, _KEEP)


class Packed:
    """Copies of weights in the layout of oneDNN, by the address of the weight."""

    def __init__(self) -> None:
        self._linears: dict[int, list[_PackedLinear]] = {}

    def __len__(self) -> int:
        return sum(len(linears) for linears in self._linears.values())

    def add(self, linear: _PackedLinear) -> None:
        """One more layer."""
        self._linears.setdefault(linear.weight.data_ptr(), []).append(linear)

    def refresh(self, weight: Tensor) -> None:
        """Copy `weight` anew where it is packed, for it has changed; one copy after the other."""
        for linear in self._linears.get(weight.data_ptr(), ()):
            linear.pack()


def pack_linears(model: nn.Module) -> Packed:
    """Give every bfloat16 linear layer without bias a copy of its weight in the layout of oneDNN.

    Without it each call reorders the weight, which at decoding batch sizes takes longer than the product. Forward hooks
    stay in force; the plain weight stays for those who read it. Whoever changes a weight must `refresh` its copy. The
    operators are those that torch.compile emits.
    """
    packed = Packed()
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return packed
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():  # oneDNN has no bfloat16 on a CPU without AVX-512
        return packed
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.bias is None and module.weight.dtype == torch.bfloat16:
            linear = _PackedLinear(module.weight.detach())
            module.forward = linear
            packed.add(linear)
    return packed


class _PackedLinear:
    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._mkldnn: Any = torch.ops.mkldnn
        self.pack()

    def pack(self) -> None:
        self._layout: Tensor | None = None  # the old copy makes room for the new one
        self._layout = self._mkldnn._reorder_linear_weight(self.weight, _PACKED_FOR_ROWS)

    def __call__(self, x: Tensor) -> Tensor:
        return self._mkldnn._linear_pointwise(x, self._layout, None, "none", [], "")
