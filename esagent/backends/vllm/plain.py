"""Linear layers of vLLM on a CPU that read the weight that one can write to.

There vLLM packs a copy of every weight for its kernels, leaves an empty tensor behind in a linear layer, and in a head
that is tied to the embedding a weight that only the embedding still reads. Noise written to these parameters does
nothing, and nothing says so. Where weights are to be written, layers take plain products of the weight as it stands.
"""

from __future__ import annotations

from typing import Any

import torch

from esagent.backends.vllm.options import PLAIN

READS_THE_WEIGHT = torch.nn.functional.linear
"""What a layer computes with that takes its weight as it stands."""


def install() -> None:
    """Have vLLM ask, layer by layer as it loads a model, whether to leave the weight alone. Twice is as once."""
    from vllm.config import get_current_vllm_config
    from vllm.model_executor.layers import utils

    packing = utils.dispatch_cpu_unquantized_gemm
    if getattr(packing, "asks", False):
        return

    def dispatch(layer: Any, remove_weight: bool) -> None:
        if layer.weight.dim() == 2 and get_current_vllm_config().additional_config.get(PLAIN):
            layer.cpu_linear = READS_THE_WEIGHT
        else:
            packing(layer, remove_weight)

    dispatch.asks = True  # type: ignore[attr-defined]
    utils.dispatch_cpu_unquantized_gemm = dispatch
