"""Members as LoRA adapters of vLLM, made in memory: cores, adapters, and noise of low rank on linear layers.

A version has a number that is never used again. It is built once, when vLLM first needs it, from factors that were
handed to the worker; vLLM fuses and splits them as it does its own layers, keeps them in its slots, and evicts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from esagent.backends.vllm.asked import versions

Factors = Mapping[str, tuple[Tensor, Tensor]]
"""By path of a site, a weight change up @ down: (down [r, in], up [out, r])."""

IN_MEMORY = "in-memory"
"""Stands where vLLM wants the path of an adapter's folder."""


def install_adapters(runner: Any, factors: Mapping[int, Factors]) -> None:
    """Have vLLM take adapters out of `factors`, by number, and tell versions apart token by token."""
    manager = runner.lora_manager
    dtype = manager.lora_config.lora_dtype

    def load(request: Any) -> Any:
        return adapter(request.lora_int_id, factors[request.lora_int_id], dtype)

    manager._load_adapter = load
    on_cpu = runner.device.type == "cpu"
    if on_cpu:
        for wrapper in manager._adapter_manager.punica_wrapper_mapping.values():
            _group_by_adapter(wrapper)

    def activate(batch: Any, scheduled: Any, sampled: Any = None, mapping_type: Any = None) -> None:
        """As vLLM's own, but tokens before a request's boundary run without its adapter."""
        from vllm.lora.layers import LoRAMapping, LoRAMappingType

        sampled = np.ones_like(scheduled, dtype=np.int32) if sampled is None else sampled
        last, _, requests = batch.make_lora_inputs(scheduled, sampled)
        mapping = LoRAMapping(
            tuple(versions(runner, scheduled).tolist()),
            last,
            # Its other way has room for one run of tokens per request, and a boundary makes it two.
            is_prefill=not on_cpu,
            type=LoRAMappingType.LANGUAGE if mapping_type is None else mapping_type,
        )
        manager.set_active_adapters(requests, mapping)

    runner.set_active_loras = activate


def adapter(number: int, factors: Factors, dtype: torch.dtype) -> Any:
    """A LoRAModel of vLLM."""
    from vllm.lora.lora_model import LoRAModel
    from vllm.lora.lora_weights import LoRALayerWeights

    layers = {}
    for path, (down, up) in factors.items():
        rank = len(down)
        layers[path] = LoRALayerWeights(path, rank, rank, down.to(dtype), up.to(dtype), scaling=1.0)
    return LoRAModel(number, max((layer.rank for layer in layers.values()), default=1), layers)


def _group_by_adapter(wrapper: Any) -> None:
    """On a CPU: one product per adapter over the tokens that run under it.

    vLLM's own gathers a copy of the factors for every token, and for a token without an adapter takes those in the last
    slot, whosever they are.
    """
    groups: list[tuple[int, Tensor]] = []
    update = wrapper.update_metadata

    def updated(*arguments: Any, **named: Any) -> None:
        update(*arguments, **named)
        indices = wrapper.token_lora_indices
        groups[:] = [(slot, (indices == slot).nonzero()[:, 0]) for slot in indices.unique().tolist() if slot >= 0]

    def add(
        y: Tensor,
        x: Tensor,
        lora_a_stacked: tuple[Tensor, ...],
        lora_b_stacked: tuple[Tensor, ...],
        scale: float,
        output_slices: tuple[int, ...],
        **_: Any,
    ) -> None:
        y, x = y.view(-1, y.shape[-1]), x.view(-1, x.shape[-1])
        for slot, rows in groups:
            given = x.index_select(0, rows)
            start = 0
            for down, up, width in zip(lora_a_stacked, lora_b_stacked, output_slices, strict=True):
                inner = (given.float() @ down[slot, 0].float().T).mul_(scale).to(y.dtype)
                y[:, start : start + width].index_add_(0, rows, inner @ up[slot, 0].to(y.dtype).T)
                start += width

    wrapper.update_metadata, wrapper.add_lora_linear = updated, add
