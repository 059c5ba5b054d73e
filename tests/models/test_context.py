"""How long a text a model was made for, from configurations as the model families publish them."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import DeepseekV3Config, LlamaConfig, PreTrainedConfig, Qwen3Config

from esagent.models.context import context_length


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        (LlamaConfig(max_position_embeddings=8192), 8192),
        # Qwen's model cards: 32,768 tokens, 131,072 with these lines in config.json.
        (
            Qwen3Config(
                max_position_embeddings=32768,
                rope_parameters={
                    "rope_type": "yarn",
                    "rope_theta": 1e6,
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                },
            ),
            131072,
        ),
        # Llama 3.1 and DeepSeek-V3 state the stretched length themselves.
        (
            LlamaConfig(
                max_position_embeddings=131072,
                rope_parameters={
                    "rope_type": "llama3",
                    "rope_theta": 5e5,
                    "factor": 8.0,
                    "original_max_position_embeddings": 8192,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                },
            ),
            131072,
        ),
        (
            DeepseekV3Config(
                max_position_embeddings=163840,
                rope_parameters={
                    "rope_type": "yarn",
                    "rope_theta": 1e4,
                    "factor": 40.0,
                    "original_max_position_embeddings": 4096,
                    "beta_fast": 32,
                    "beta_slow": 1,
                    "mscale": 1.0,
                    "mscale_all_dim": 1.0,
                },
            ),
            163840,
        ),
        (
            LlamaConfig(
                max_position_embeddings=4096,
                rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
            ),
            8192,
        ),
        (PreTrainedConfig(), None),
    ],
    ids=["plain", "yarn", "llama3", "yarn stated", "dynamic", "none"],
)
def test_the_length_a_configuration_says(config: Any, tokens: int | None) -> None:
    assert context_length(config) == tokens
