"""Format `peft`: one LoRA folder per module, read by `peft.PeftModel.from_pretrained`.

peft adds (lora_alpha / r) (B (A x) + b). With lora_alpha = r that is the change itself: A and B of a lora, A and B R of
a core as lora_A and lora_B; a vector as the bias b of a lora_B of rank 1 whose matrices are 0 (peft's `lora_bias`).
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from esagent.errors import ConfigError
from esagent.runs.export.trained import Adapter, Trained


def refuse(trained_on_answers: bool) -> None:
    """Raise ConfigError where an adapter would act differently."""
    if trained_on_answers:
        raise ConfigError(
            "--format peft: with space.positions=answer the trained numbers act from the last token of the prompt on, "
            "and a peft adapter acts on every token; use --format hooks"
        )


def write(trained: Trained, folder: Path) -> None:
    """A folder per module with adapter_config.json and adapter_model.safetensors. Needs no peft."""
    for module, adapter in trained.adapters.items():
        (folder / module).mkdir()
        tensors = _tensors(trained, adapter)
        save_file({k: t.contiguous() for k, t in tensors.items()}, folder / module / "adapter_model.safetensors")
        settings = _settings(trained, adapter)
        (folder / module / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def _settings(trained: Trained, adapter: Adapter) -> dict[str, object]:
    rank = max((down.shape[0] for down, _ in adapter.low_rank.values()), default=1)
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": trained.source,
        "revision": trained.base.revision,
        "r": rank,
        "lora_alpha": rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "lora_bias": bool(adapter.biases),
        "target_modules": [*adapter.low_rank, *adapter.biases],
        "init_lora_weights": True,
        "inference_mode": True,
    }


def _tensors(trained: Trained, adapter: Adapter) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for site, (down, up) in adapter.low_rank.items():
        found[f"base_model.model.{site}.lora_A.weight"] = down
        found[f"base_model.model.{site}.lora_B.weight"] = up
    for site, bias in adapter.biases.items():
        linear = trained.model.get_submodule(site)
        found[f"base_model.model.{site}.lora_A.weight"] = torch.zeros(1, linear.in_features)
        found[f"base_model.model.{site}.lora_B.weight"] = torch.zeros(linear.out_features, 1)
        found[f"base_model.model.{site}.lora_B.bias"] = bias
    return found
