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
    own, real = packing.own, len(packing.row)
    own.keys(layer)[packing.row, :, packing.place] = key[:real]
    own.values(layer)[packing.row, :, packing.place] = value[:real]
    found: list[tuple[Tensor, Tensor]] = []
    for part in packing.parts:
        results = [_run(call, layer, query, scaling) for call in part.calls]
        mixed, weight = (torch.cat(x) if len(x) > 1 else x[0] for x in zip(*results, strict=True))
        mixed, weight = mixed.index_select(0, part.back), weight.index_select(0, part.back)
        if part.absent is not None:
            mixed = mixed.masked_fill(part.absent[:, None, None], 0.0)
            weight = weight.masked_fill(part.absent[:, None], float("-inf"))
        found.append((mixed, weight))
    return found[0][0] if len(found) == 1 else _merge(found).to(query.dtype)


def _merge(found: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Results [T, heads, dim] with their log-sum-exp [T, heads] to one result, fp32."""
    share = torch.softmax(torch.stack([weight for _, weight in found]), dim=0)[..., None]
    out = found[0][0] * share[0]
    for (mixed, _), part in zip(found[1:], share[1:], strict=True):
        out.addcmul_(mixed, part)
    return out


def _run(call: Call, layer: int, query: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
    """Results [N * S, heads, dim] and log-sum-exp [N * S, heads].

    Query heads that share a KV head are folded into the query axis, so keys are read once for all of them.
    """
    keys, values = (x[:, :, : call.width] for x in (call.store.keys(layer), call.store.values(layer)))
    if call.entries is not None:
        keys, values = keys.index_select(0, call.entries), values.index_select(0, call.entries)
    elif len(keys) < call.pieces:
        keys, values = (x.expand(call.pieces, -1, -1, -1) for x in (keys, values))
    kv_heads, heads, dim = keys.shape[1], query.shape[1], query.shape[2]
    asked = query.index_select(0, call.tokens).view(call.pieces, -1, kv_heads, heads // kv_heads, dim)
    size, groups = asked.shape[1], asked.shape[3]
    folded = asked.permute(0, 2, 3, 1, 4).reshape(call.pieces, kv_heads, groups * size, dim)
    mixed, weight = _scaled_dot_product(folded, keys, values, call.mask, scaling)
    back = mixed.view(call.pieces, kv_heads, groups, size, dim).permute(0, 3, 1, 2, 4)
    weight = weight.view(call.pieces, kv_heads, groups, size).permute(0, 3, 1, 2)
    return back.reshape(-1, heads, dim), weight.reshape(-1, heads)


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
