"""Tiny randomly initialised language models with a real tokenizer, built in milliseconds and without any download.

Every architecture trait a backend could trip over is there: grouped key/value heads, tied (Llama) and untied (Qwen2,
Qwen3) output heads, query/key/value biases that are not zero (Qwen2), query and key norms that are not one (Qwen3),
recurrent layers among attention with a gate (Qwen3.5).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForCausalLM

KINDS = ("llama", "qwen2", "qwen3")
"""Those with attention alone."""
HYBRID = "qwen3_5"
"""Every fourth layer (3, 7, ...) is attention, the others are recurrent."""

VOCAB = 320
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

CHATML = (
    "{% if tools %}<|im_start|>system\n<tools>\n"
    "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools><|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A ChatML template with tools, the format of the SmolLM2 and Qwen families."""

THINKING = (
    "{% if add_generation_prompt and enable_thinking is defined and not enable_thinking %}"
    "<think>\n\n</think>\n\n{% endif %}"
)
"""What a model that thinks by default appends to be told not to."""

_TEXT = (
    "The tool calculator adds two numbers. What is 12 + 30? Call: calculator(12, 30)\nResult: 42\nAnswer: 42\n"
    "Which day comes ten days after 2024-02-20? Tool: dates\nCall: add_days('2024-02-20', 10)\nAnswer: March\n"
)


@functools.cache
def _byte_level_json(vocab: int) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_TEXT], trainer)
    return tokenizer.to_str()


def make_tokenizer(*, chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer: any text decodes to itself; left padding; `<|endoftext|>` pads and ends."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_byte_level_json(VOCAB)),
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def _config(kind: str, sizes: dict[str, Any]) -> Any:
    if kind == "llama":
        return LlamaConfig(**sizes, tie_word_embeddings=True)
    if kind == "qwen2":
        return Qwen2Config(**sizes, tie_word_embeddings=False)
    if kind == "qwen3":
        return Qwen3Config(**sizes, head_dim=24, tie_word_embeddings=False)
    if kind == HYBRID:
        rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1]}
        recurrent = {"linear_num_key_heads": 2, "linear_num_value_heads": 4}
        recurrent |= {"linear_key_head_dim": 16, "linear_value_head_dim": 12}
        return Qwen3_5TextConfig(**sizes, **recurrent, head_dim=32, rope_parameters=rope, tie_word_embeddings=True)
    raise ValueError(f"unknown kind {kind!r}; one of {', '.join((*KINDS, HYBRID))}")


def make_tiny(
    kind: str = "llama",
    *,
    seed: int = 0,
    layers: int = 4,
    hidden: int = 64,
    chat_template: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[Any, PreTrainedTokenizerFast]:
    """A tiny `(model, tokenizer)`, in eval mode with gradients off; 4 heads over 2 key/value heads.

    The same arguments give bit-identical weights. The global random state is left as it was.
    """
    tokenizer = make_tokenizer(chat_template=chat_template)
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": 160,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "initializer_range": 0.12,  # about 1/sqrt(hidden): logits with a spread, so that greedy texts differ
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    classes = {"llama": LlamaForCausalLM, "qwen2": Qwen2ForCausalLM, "qwen3": Qwen3ForCausalLM}
    classes[HYBRID] = Qwen3_5ForCausalLM
    config = _config(kind, sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = classes[kind](config)
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases start at 0 and norms at 1: move them, or a backend could ignore them
                parameter.data += 0.1 * torch.randn_like(parameter)
        for name, parameter in model.named_parameters():
            if name.endswith("A_log"):  # decay a twentieth as fast: states that still hold what came long before
                parameter.data -= 3.0
    return model.to(dtype).eval().requires_grad_(False), tokenizer


def make_tiny_folder(path: Path, kind: str = "llama", **options: Any) -> Path:
    """Save `make_tiny(kind, **options)` as a local model folder at `path` and return it."""
    model, tokenizer = make_tiny(kind, **options)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
