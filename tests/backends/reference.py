"""The slow, plain way: materialise a member's weights and let transformers run it alone, token by token.

Parameters that act on answers alone: the base model reads all of the prompt but its last token, the member goes on.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from esagent.core.episode import UNPERTURBED, Request
from esagent.core.population import Perturbation
from esagent.spaces.base import AdapterSpace, Space


def materialise(model: nn.Module, space: Space, module: str, member: Perturbation | None) -> nn.Module:
    """A stock copy of `model` with the module's perturbed parameters in, or folded into, its weights and biases."""
    kept: Any = model
    settings = copy.deepcopy(kept.config)
    plain = AutoModelForCausalLM.from_config(settings, dtype=kept.dtype, attn_implementation="eager")
    plain.load_state_dict(model.state_dict())
    plain.eval()
    values = space.parameters.values(module, member)
    if not isinstance(space, AdapterSpace):
        for name, value in values.items():
            parameter = plain.get_parameter(name)
            parameter.data.copy_(value.view_as(parameter))
    weights, biases = space.dense(values) if isinstance(space, AdapterSpace) else ({}, {})
    for site, change in weights.items():
        plain.get_submodule(site).weight.data += change.to(kept.dtype)
    for site, bias in biases.items():
        linear = plain.get_submodule(site)
        old = linear.bias.data if linear.bias is not None else 0.0
        linear.bias = nn.Parameter(old + bias.to(kept.dtype))
    return plain


@torch.inference_mode()
def complete(
    model: nn.Module, tokenizer: Any, space: Space, request: Request, members: Sequence[Perturbation]
) -> tuple[str, list[int], list[Tensor]]:
    """Greedy completion of one request: its text, its tokens, and the logits [vocabulary] behind each token."""
    member = None if request.member == UNPERTURBED else members[request.member]
    plain = materialise(model, space, request.module, member)
    return alone(plain, tokenizer, request, materialise(model, space, "", None) if space.answers_only else None)


@torch.inference_mode()
def alone(
    plain: nn.Module, tokenizer: Any, request: Request, base: nn.Module | None = None
) -> tuple[str, list[int], list[Tensor]]:
    """The same for a stock model `plain`. base: what reads the prompt but for its last token, `plain` by default."""
    ids = [
        i for text in (request.prefix, request.prompt) for i in tokenizer(text, add_special_tokens=False)["input_ids"]
    ]
    tokens: list[int] = []
    seen: list[Tensor] = []
    while len(tokens) < request.max_new_tokens:
        read = base(torch.tensor([ids[:-1]]), use_cache=True).past_key_values if base else None
        rest = ids[-1:] + tokens if base else ids + tokens
        logits = plain(torch.tensor([rest]), past_key_values=read).logits[0, -1].float()
        seen.append(logits)
        tokens.append(int(logits.argmax()))
        text = tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        ends = [text.find(s) for s in request.stop if s in text]
        if tokens[-1] == tokenizer.eos_token_id:
            return tokenizer.decode(tokens[:-1]), tokens, seen
        if ends:
            return text[: min(ends)], tokens, seen
    return text, tokens, seen
