"""Devices, number formats and folders that hold no language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5Config
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

from esagent.config.schema import DType, ModelConfig
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models.loading import load, pick_device, pick_dtype
from esagent.models.registry import resolve
from tests.helpers.tiny import HYBRID, make_tiny, make_tiny_folder

CPU = torch.device("cpu")


def test_device() -> None:
    assert pick_device("cpu") == CPU
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ConfigError, match=r"backend\.device: 'gpu'"):
        pick_device("gpu")
    with pytest.raises(EnvironmentFailure, match="CUDA devices"):
        pick_device("cuda:99")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [({"avx512_bf16": True}, torch.bfloat16), ({"amx_bf16": True}, torch.bfloat16), ({"avx2": True}, torch.float32)],
)
def test_auto_is_bfloat16_only_where_the_cpu_multiplies_it(
    flags: dict[str, bool], expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags)
    assert pick_dtype(DType.auto, CPU) is expected
    assert pick_dtype(DType.float32, CPU) is torch.float32
    assert pick_dtype(DType.bfloat16, CPU) is torch.bfloat16


def test_a_folder_of_something_else_is_one_line(tmp_path: Path) -> None:
    folder = make_tiny_folder(tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-architecture"}))
    found = resolve(ModelConfig(name="mine", source=str(folder)))
    with pytest.raises(EnvironmentFailure, match=r"mine in .* cannot be loaded: ") as caught:
        load(found, torch.float32, CPU)
    assert "\n" not in str(caught.value)


def test_dtype_and_attention_are_those_asked_for(tmp_path: Path) -> None:
    found = resolve(ModelConfig(name="mine", source=str(make_tiny_folder(tmp_path / "model"))))
    model, _ = load(found, torch.bfloat16, CPU, attention="eager")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert model.config._attn_implementation == "eager"


def test_of_a_checkpoint_that_also_sees_the_text_model_is_loaded(tmp_path: Path) -> None:
    """Qwen3.5 comes with a vision tower: its weights are left out, the others get the text model's names."""
    model, tokenizer = make_tiny(HYBRID)
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64}
    config = Qwen3_5Config(text_config=model.config.to_dict(), vision_config=vision, tie_word_embeddings=True)
    both = Qwen3_5ForConditionalGeneration(config)
    both.model.language_model.load_state_dict(model.model.state_dict())
    both.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")

    found = resolve(ModelConfig(name="mine", source=str(tmp_path / "model")))
    loaded, _ = load(found, torch.float32, CPU)
    assert type(loaded) is type(model)
    assert not any("visual" in name for name, _ in loaded.named_parameters())
    tokens = torch.arange(12)[None]
    torch.testing.assert_close(loaded(tokens).logits, model(tokens).logits)
