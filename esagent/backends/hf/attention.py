"""Attention over the parts of a past: each by itself, then merged by log-sum-exp.

Softmax attention over the union of disjoint sets of slots is the mean of the attention over each set, weighted by

    w_l = exp(lse_l) / sum_k exp(lse_k)        lse_l = log sum_{j in l} exp(q . k_j * scaling)

as in FlashAttention's own blocks (Dao et al. 2022, arXiv 2205.14135) and cascade inference.
"""

from __future__ import annotations

import torch
from torch import Tensor

from esagent.backends.hf.packing import Call, Packing


def attend(packing: Packing, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Write the new keys and values into the rows' own store, then attend.

    query: [T, heads, dim]; key, value: [T, kv_heads, dim]. Returns [T, heads, dim]. T may be more than the packing's
    tokens (a chunk that was filled up); what comes out for the rest says nothing.
    """
    real = len(packing.row)
    packing.own.write(layer, packing.slots, key[:real], value[:real])
    queries = query.reshape(-1, query.shape[-1])
    mixed, weights = zip(*[_run(call, layer, queries, key.shape[1], scaling) for call in packing.calls], strict=True)
    if packing.levels == 1:
        return torch.cat(mixed).index_select(0, packing.back).view(query.shape)
    nothing = queries.new_zeros(1, queries.shape[1]), weights[0].new_full((1,), float("-inf"))
    results = torch.cat([*mixed, nothing[0]]).index_select(0, packing.back).view(packing.levels, *queries.shape)
    weight = torch.cat([*weights, nothing[1]]).index_select(0, packing.back).view(packing.levels, -1)
    return results.mul(torch.softmax(weight, dim=0)[..., None]).sum(0).to(query.dtype).view(query.shape)


def _run(call: Call, layer: int, queries: Tensor, kv_heads: int, scaling: float) -> tuple[Tensor, Tensor]:
    """Results [N * H * G * S, dim] and log-sum-exp [N * H * G * S] of a call. queries: [T * H * G, dim].

    Query heads that share a KV head are folded into the query axis, so keys are read once for all of them.
    """
    keys, values = call.store.read(layer, call.width)
    if call.entries is not None:
        keys, values = keys.index_select(0, call.entries), values.index_select(0, call.entries)
    elif len(keys) < call.pieces:
        keys, values = keys.expand(call.pieces, -1, -1, -1), values.expand(call.pieces, -1, -1, -1)
    dim = queries.shape[1]
    asked = queries.index_select(0, call.asked).view(call.pieces, kv_heads, -1, dim)
    mixed, weight = _scaled_dot_product(asked, keys, values, call.mask, scaling)
    return mixed.reshape(-1, dim), weight.reshape(-1)


def _scaled_dot_product(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scaling: float
) -> tuple[Tensor, Tensor]:
    """Result and log-sum-exp. The public function keeps the latter to itself; this is what it calls on a CPU."""
    if query.device.type == "cpu":
        out, weight = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, keys, values, attn_mask=mask, scale=scaling
        )
        return out, weight
    return _in_the_open(query, keys, values, mask, scaling)


def _in_the_open(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scaling: float
) -> tuple[Tensor, Tensor]:
    """The same from plain operations, where there is no such kernel."""
    scores = torch.matmul(query, keys.transpose(-1, -2)).float() * scaling
    if mask is not None:
        scores = scores + mask
    weight = scores.logsumexp(-1)
    return torch.matmul(torch.exp(scores - weight[..., None]).to(values.dtype), values), weight
