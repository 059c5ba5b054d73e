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


def reads_the_weight(layer: Any) -> bool:
    """Whether it does; so do all layers where vLLM packs nothing."""
    return getattr(layer, "cpu_linear", READS_THE_WEIGHT) is READS_THE_WEIGHT


def install() -> None:
    """Have vLLM ask, layer by layer as it loads a model, whether to leave the weight alone. Twice is as once."""
    from vllm.config import get_current_vllm_config_or_none
    from vllm.model_executor.layers import utils

    packing = utils.dispatch_cpu_unquantized_gemm
    if getattr(packing, "asks", False):
        return

    def dispatch(layer: Any, remove_weight: bool) -> None:
        config = get_current_vllm_config_or_none()
        # Weights that are loaded again come without a configuration: a layer stays what it was.
        plain = (
            config.additional_config.get(PLAIN) if config else hasattr(layer, "cpu_linear") and reads_the_weight(layer)
        )
        if layer.weight.dim() == 2 and plain:
            layer.cpu_linear = READS_THE_WEIGHT
        else:
            packing(layer, remove_weight)

    dispatch.asks = True  # type: ignore[attr-defined]
    utils.dispatch_cpu_unquantized_gemm = dispatch
