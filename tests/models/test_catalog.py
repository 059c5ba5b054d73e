"""The catalogue against the architectures themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig

from esagent.models.catalog import CATALOG, Architecture, architecture_of_folder
from tests.helpers.tiny import HYBRID, KINDS, make_tiny, make_tiny_folder

CONFIGS = {
    "smollm2-135m": (LlamaConfig, {"tie_word_embeddings": True}),
    "smollm2-1.7b": (LlamaConfig, {"tie_word_embeddings": True}),
    "qwen2.5-1.5b": (Qwen2Config, {"tie_word_embeddings": True}),
    "qwen2.5-3b": (Qwen2Config, {"tie_word_embeddings": True}),
    "qwen3.5-4b": (Qwen3_5TextConfig, {"tie_word_embeddings": True}),
    "qwen3.5-27b": (Qwen3_5TextConfig, {"tie_word_embeddings": False, "linear_num_value_heads": 48}),
}


@pytest.mark.parametrize("name", CATALOG)
def test_parameter_counts_are_those_of_the_model_class(name: str) -> None:
    sizes = CATALOG[name].architecture
    kind, extra = CONFIGS[name]
    head_dim = {"head_dim": sizes.head_dim} if kind is not Qwen2Config else {}
    config = kind(
        vocab_size=sizes.vocab,
        hidden_size=sizes.hidden,
        intermediate_size=sizes.intermediate,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.kv_heads,
        **head_dim,
        **extra,
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    assert model.num_parameters() == sizes.parameters
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * sizes.layers
    assert sum(kind == "full_attention" for kind in kinds) == sizes.attention_layers
    for layer in range(4):
        _same_linears(sizes, model, layer)


def _same_linears(sizes: Architecture, model: Any, layer: int) -> None:
    """What the sizes say of a layer is what it has: every linear layer, and none beside."""
    there = {
        name.rpartition(".")[2]: (module.in_features, module.out_features)
        for name, module in model.model.layers[layer].named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    names = {*there, "q_proj", "out_proj", "in_proj_qkv", "in_proj_z", "in_proj_a", "in_proj_b", "no_such"}
    assert {name: sizes.linear(name, layer) for name in names if sizes.linear(name, layer)} == there


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_tells_its_own_sizes(kind: str, tmp_path: Path) -> None:
    model, _ = make_tiny(kind, layers=3)
    sizes = architecture_of_folder(make_tiny_folder(tmp_path / kind, kind, layers=3))
    assert sizes.parameters == model.num_parameters()
    assert (sizes.layers, sizes.hidden, sizes.heads, sizes.kv_heads, sizes.attention_layers) == (3, 64, 4, 2, 3)
    assert sizes.head_dim == (24 if kind == "qwen3" else 16)
    assert sizes.kv_numbers_per_token == 2 * 3 * 2 * sizes.head_dim


def test_a_folder_tells_of_its_recurrent_layers(tmp_path: Path) -> None:
    model, _ = make_tiny(HYBRID, layers=8)
    sizes = architecture_of_folder(make_tiny_folder(tmp_path / "model", HYBRID, layers=8))
    assert sizes.parameters == model.num_parameters()
    assert sizes.recurrent is not None
    assert sizes.recurrent.attends == (3, 7)
    assert sizes.kv_numbers_per_token == 2 * 2 * 2 * 32
    for layer in range(8):
        _same_linears(sizes, model, layer)
    with torch.inference_mode():
        kept = model(torch.zeros(1, 9, dtype=torch.int64), use_cache=True).past_key_values.layers
    states = [layer for layer in kept if hasattr(layer, "conv_states")]
    assert sizes.state_numbers == sum(s.conv_states[0].numel() + s.recurrent_states[0].numel() for s in states)
