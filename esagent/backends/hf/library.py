"""A stock transformers model with recurrent layers among its attention, driven by its own forward and cache."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from esagent.backends.hf.states import States


class HybridNetwork:
    """A causal language model of the library, run as it is.

    exact_rows: states at once whose logits are taken in fp32, since these are large.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        self.layers: list[Any] = list(model.model.layers)
        self.depth = len(self.layers)
        weight = model.get_input_embeddings().weight
        self.dtype: torch.dtype = weight.dtype
        self.device: torch.device = weight.device
        self.vocabulary: int = self.config.vocab_size
        self.head_parameters: int = model.lm_head.weight.numel()
        self.exact_rows = max(16, (1 << 24) // self.vocabulary)

    def parameters(self, low: int, high: int) -> int:
        """Weights of layers [low, high)."""
        return sum(p.numel() for layer in self.layers[low:high] for p in layer.parameters())

    def read(self, states: States, tokens: Tensor, real: Tensor) -> Tensor:
        """Go on with every row of `states`; tokens and what of them is no padding: [rows, n] each.

        Returns the states that logits follow from, [rows, n, hidden].
        """
        states.mask = torch.cat([states.mask, real], dim=1)
        position = (states.mask.cumsum(1) - 1)[:, -tokens.shape[1] :].clamp_(min=0)
        out = self.model.model(
            input_ids=tokens,
            attention_mask=states.mask,
            position_ids=position,
            past_key_values=states.cache,
            use_cache=True,
        )
        return out.last_hidden_state

    def logits(self, hidden: Tensor) -> Tensor:
        """What may follow, [T, vocabulary], from [T, hidden]."""
        return self.model.lm_head(hidden)

    def log_likelihoods(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """log softmax(logits)[token] of each state's token, fp32 [T]; not finite where the logits are not."""
        logits = self.logits(hidden).float()
        return logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(-1)
