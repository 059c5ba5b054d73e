"""A stock transformers decoder, driven layer by layer on packed tokens.

The layers themselves are the library's; only attention is ours (registered under its own name), because it must know
which rows share what. Any architecture whose layers pass keyword arguments through to the attention function works:
Llama, Qwen2, Qwen3 and their relatives.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from esagent.backends.hf import lean
from esagent.backends.hf.attention import attend
from esagent.backends.hf.packing import SLOTS, Packing, Shape
from esagent.backends.hf.store import KVStore
from esagent.errors import EnvironmentFailure

ATTENTION = "esagent_packed"
_BLOCK = 128
_CHUNK = {"cpu": 64, "cuda": 256}
_MOVING_ANGLES = {"dynamic", "longrope"}


def _packed_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, scaling: float, **kwargs: Any
) -> tuple[Tensor, None]:
    flat = [t[0].transpose(0, 1) for t in (query, key, value)]
    layer: Any = module.layer_idx
    return attend(kwargs["packing"], layer, flat[0], flat[1], flat[2], scaling)[None], None


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, _packed_attention)


class Network:
    """Embedding, layers and head of a causal language model, all of whose layers are full attention.

    chunk: tokens that every product is computed for at a time, so that its result for one of them depends on no other;
    0 leaves the shapes open (`fixed` chooses). Raises EnvironmentFailure for a model that cannot be driven with
    fixed shapes.
    """

    def __init__(self, model: Any, fixed: bool = False) -> None:
        config = model.config
        rope = getattr(model.model.rotary_emb, "rope_type", "default")
        if fixed and rope in _MOVING_ANGLES:
            raise EnvironmentFailure(
                f"backend.deterministic=true: the rotary embedding of {type(model).__name__} ({rope}) changes with the "
                "longest text in the batch; use backend.deterministic=false"
            )
        config._attn_implementation = ATTENTION
        self.model = model
        self.body: Any = model.model
        self.layers: list[Any] = list(self.body.layers)
        self.depth = len(self.layers)
        self._lean = all(lean.is_lean(layer) for layer in self.layers)
        self.kv_heads: int = config.num_key_value_heads
        groups: int = config.num_attention_heads // config.num_key_value_heads
        self.head_dim: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.vocabulary: int = config.vocab_size
        weight = self.body.embed_tokens.weight
        self.dtype: torch.dtype = weight.dtype
        self.device: torch.device = weight.device
        self.head_parameters = weight.numel()
        self._head: Any = model.lm_head
        self.chunk = _CHUNK[self.device.type] if fixed else 0
        self.shape = Shape(self.kv_heads, groups, self.dtype, self.device, fixed)
        self.head_rows = self.chunk or max(64, (1 << 26) // self.vocabulary)  # states at once: logits are large
        self.exact_rows = self.chunk or max(16, (1 << 24) // self.vocabulary)  # ... where they are taken in fp32

    def parameters(self, low: int, high: int) -> int:
        """Weights of layers [low, high)."""
        return sum(p.numel() for layer in self.layers[low:high] for p in layer.parameters())

    def store(self, low: int, high: int, entries: int, width: int) -> KVStore:
        """Room for the keys and values of `entries` texts of up to `width` tokens in layers [low, high).

        All 0 at first, since masked slots must hold finite numbers."""
        shape = (2, high - low, entries, self.width(width), self.kv_heads, self.head_dim)
        return KVStore(low, torch.zeros(shape, dtype=self.dtype, device=self.device))

    def width(self, length: int) -> int:
        """Slots to keep for texts of this length; calls of one shape read multiples of `SLOTS`."""
        return -(-length // SLOTS) * SLOTS if self.chunk else length

    def embed(self, tokens: Tensor) -> Tensor:
        """Token ids [T] to states [T, hidden]."""
        return self.body.embed_tokens(tokens)

    def angles(self, position: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotary embedding at positions [T], each [1, T, head_dim]."""
        return self.body.rotary_emb(self.body.embed_tokens.weight, position[None])

    def layers_between(
        self,
        hidden: Tensor,
        where: tuple[Tensor, Tensor],
        low: int,
        high: int,
        packing: Packing,
    ) -> Tensor:
        """States [T, hidden] at the given angles through layers [low, high)."""
        if self._lean:
            half = self.head_dim // 2
            cos, sin = (w[0, :, None, :half] for w in where)
            for layer in self.layers[low:high]:
                hidden = lean.forward(layer, hidden, (cos, sin), packing)
            return hidden
        states = hidden[None]
        for layer in self.layers[low:high]:
            out = layer(
                states,
                attention_mask=None,
                position_embeddings=where,
                packing=packing,
            )
            states = out[0] if isinstance(out, tuple) else out
        return states[0]

    def logits(self, hidden: Tensor) -> Tensor:
        """States of the last layer [T, hidden] to logits [T, vocabulary]."""
        return self._head(self.body.norm(hidden))

    def greedy(self, hidden: Tensor) -> Tensor:
        """Most likely token of each state, [T]; -1 where the logits are not finite."""
        logits = self.logits(hidden)
        # Two narrow searches: an argmax over the whole vocabulary is several times as slow on a CPU.
        whole = logits.shape[1] // _BLOCK * _BLOCK
        blocks = logits[:, :whole].view(len(hidden), -1, _BLOCK).amax(-1)
        if whole < logits.shape[1]:
            blocks = torch.cat([blocks, logits[:, whole:].amax(-1, keepdim=True)], dim=1)
        best, block = blocks.max(-1)
        places = (block[:, None] * _BLOCK + torch.arange(_BLOCK, device=logits.device)).clamp_(max=self.vocabulary - 1)
        within = logits.gather(1, places).argmax(-1)
        index = places.gather(1, within[:, None])[:, 0]
        return torch.where(torch.isfinite(best), index, -1)

    def log_likelihoods(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """log softmax(logits)[token] of each state's token, fp32 [T]; not finite where the logits are not.

        hidden: [T, hidden]; tokens: [T].
        """
        logits = self.logits(hidden).float()
        return logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(-1)
