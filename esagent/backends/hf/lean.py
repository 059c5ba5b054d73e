"""The arithmetic between the matrix products of a Llama-style layer, in fewer passes over memory.

On a CPU these passes cost as much as the products themselves. The products, and with them all weights and hooks, stay
the library's own modules. Covers Llama, Qwen2 and Qwen3: rotary attention with optional query and key norms, and a
gated SiLU network. In fp32 the results equal the library's up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.activations import ACT2FN

from esagent.backends.hf.attention import attend
from esagent.backends.hf.packing import Packing

_KINDS = {"LlamaDecoderLayer", "Qwen2DecoderLayer", "Qwen3DecoderLayer"}


def is_lean(layer: Any) -> bool:
    """Whether `forward` computes what this layer computes."""
    return type(layer).__name__ in _KINDS and isinstance(layer.mlp.act_fn, type(ACT2FN["silu"]))


def forward(layer: Any, x: Tensor, where: tuple[Tensor, Tensor], packing: Packing) -> Tensor:
    """States [T, hidden] through one layer. where: cos and sin [T, 1, head_dim / 2]."""
    attention, network = layer.self_attn, layer.mlp
    dim = attention.head_dim
    normed = rms_norm(x, layer.input_layernorm)
    query = attention.q_proj(normed).view(x.shape[0], -1, dim)
    key = attention.k_proj(normed).view(x.shape[0], -1, dim)
    value = attention.v_proj(normed).view(x.shape[0], -1, dim)
    if hasattr(attention, "q_norm"):
        query, key = rms_norm(query, attention.q_norm), rms_norm(key, attention.k_norm)
    query, key = rotate(query, where), rotate(key, where)
    mixed = attend(packing, attention.layer_idx, query, key, value, attention.scaling)
    x = attention.o_proj(mixed.reshape(x.shape[0], -1)).add_(x)
    normed = rms_norm(x, layer.post_attention_layernorm)
    gated = F.silu(network.gate_proj(normed), inplace=True).mul_(network.up_proj(normed))
    return network.down_proj(gated).add_(x)


def rms_norm(x: Tensor, norm: Any) -> Tensor:
    """x / rms(x) * weight over the last axis, the mean square in fp32."""
    if norm._forward_hooks:  # its weight differs from token to token
        return norm(x)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    inverse = length.square_().mul_(1 / x.shape[-1]).add_(norm.variance_epsilon).rsqrt_()
    return x.mul(inverse.to(x.dtype)).mul_(norm.weight)


def rotate(x: Tensor, where: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary position embedding of [T, heads, dim], halves rotated against each other."""
    cos, sin = where
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    out = torch.empty_like(x)
    torch.mul(first, cos, out=out[..., :half]).addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=out[..., half:]).addcmul_(first, sin)
    return out
