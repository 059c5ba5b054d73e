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


def pack_linears(model: nn.Module) -> int:
    """Give every bfloat16 linear layer without bias a copy of its weight in the layout of oneDNN; returns how many.

    Without it each call reorders the weight, which at decoding batch sizes takes longer than the product. Forward hooks
    stay in force; the plain weight stays for those who read it. The operators are those that torch.compile emits.
    """
    mkldnn: Any = torch.ops.mkldnn
    if not torch.backends.mkldnn.is_available() or not hasattr(mkldnn, "_linear_pointwise"):
        return 0
    packed = 0
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.bias is None and module.weight.dtype == torch.bfloat16:
            module.forward = _forward(mkldnn, module.weight.detach())
            packed += 1
    return packed


def _forward(mkldnn: Any, weight: Tensor) -> Any:
    layout = mkldnn._reorder_linear_weight(weight, _PACKED_FOR_ROWS)

    def forward(x: Tensor) -> Tensor:
        return mkldnn._linear_pointwise(x, layout, None, "none", [], "")

    return forward
