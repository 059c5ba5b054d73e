"""The models known by name, with the sizes a cost plan needs before anything is downloaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """Sizes of a decoder-only model. `attention_layers` of its `layers` keep keys and values; the rest are linear.

    parameters: numbers in the text model, tied embeddings counted once.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    attention_layers: int
    parameters: int

    @property
    def head_parameters(self) -> int:
        """Weights that turn a state into logits."""
        return self.hidden * self.vocab

    @property
    def body_parameters(self) -> int:
        """Weights of all layers together; an embedding that is not tied to the head is counted with them."""
        return self.parameters - self.head_parameters

    @property
    def kv_numbers_per_token(self) -> int:
        """Numbers the key/value cache holds per token; times the bytes of the dtype it is the cache's memory."""
        return 2 * self.attention_layers * self.kv_heads * self.head_dim


@dataclass(frozen=True)
class Entry:
    """A known model: its hub id, its sizes, whether a wheel brings it, and whether it does better without a template.

    raw: few-shot text in place of the chat template. True for models too small to follow a tool-call format zero-shot.
    """

    hub_id: str
    architecture: Architecture
    embedded: bool = False
    raw: bool = False


CATALOG: dict[str, Entry] = {
    "smollm2-135m": Entry(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        Architecture(30, 576, 1536, 9, 3, 64, 49152, 30, 134_515_008),
        embedded=True,
        raw=True,
    ),
    "smollm2-1.7b": Entry(
        "HuggingFaceTB/SmolLM2-1.7B-Instruct", Architecture(24, 2048, 8192, 32, 32, 64, 49152, 24, 1_711_376_384)
    ),
    "qwen2.5-1.5b": Entry(
        "Qwen/Qwen2.5-1.5B-Instruct", Architecture(28, 1536, 8960, 12, 2, 128, 151936, 28, 1_543_714_304)
    ),
    "qwen2.5-3b": Entry(
        "Qwen/Qwen2.5-3B-Instruct", Architecture(36, 2048, 11008, 16, 2, 128, 151936, 36, 3_085_938_688)
    ),
    "qwen3.5-4b": Entry("Qwen/Qwen3.5-4B", Architecture(32, 2560, 9216, 16, 4, 256, 248320, 8, 4_205_751_296)),
    "qwen3.5-27b": Entry("Qwen/Qwen3.5-27B", Architecture(64, 5120, 17408, 24, 4, 256, 248320, 16, 26_895_998_464)),
}


def lookup(*names: str) -> Entry | None:
    """The entry of the first of `names` that is a known name or hub id."""
    by_hub_id = {entry.hub_id: entry for entry in CATALOG.values()}
    for name in names:
        if entry := CATALOG.get(name) or by_hub_id.get(name):
            return entry
    return None


def architecture_of_folder(folder: Path) -> Architecture:
    """Sizes of a local model, from its config.json and the headers of its safetensors files (no weight is read).

    Numbers of another modality's tower are counted with the rest. Raises KeyError if the config is not a decoder's.
    """
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    config = config.get("text_config", config)
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    kinds = config.get("layer_types") or ["full_attention"] * layers
    return Architecture(
        layers=layers,
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or config["hidden_size"] // heads,
        vocab=config["vocab_size"],
        attention_layers=sum(kind != "linear_attention" for kind in kinds),
        parameters=sum(_numbers(path) for path in sorted(folder.glob("*.safetensors"))),
    )


def _numbers(path: Path) -> int:
    """How many numbers a safetensors file holds: an 8-byte little-endian length, then a JSON header with the shapes."""
    with path.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            count = 1
            for size in tensor["shape"]:
                count *= size
            total += count
    return total
