"""The models known by name, with the sizes a cost plan needs before anything is downloaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Recurrent:
    """Layers that keep a state in place of keys and values (gated delta rule), beside attention whose output is gated.

    attends: the layers that are attention.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    attends: tuple[int, ...]

    @property
    def mixed(self) -> int:
        """Width of queries, keys and values together."""
        return 2 * self.key_heads * self.key_dim + self.values

    @property
    def values(self) -> int:
        """Width of the values."""
        return self.value_heads * self.value_dim

    @property
    def state_numbers(self) -> int:
        """What a layer keeps of a text, however long."""
        return self.values * self.key_dim + self.mixed * self.kernel


@dataclass(frozen=True)
class Architecture:
    """Sizes of a decoder-only model. `attention_layers` of its `layers` keep keys and values; the rest are recurrent.

    parameters: numbers in the text model, tied embeddings counted once. recurrent: None where all layers are attention.
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
    recurrent: Recurrent | None = None

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

    @property
    def state_numbers(self) -> int:
        """Numbers that recurrent layers keep of a text, however long."""
        return (self.layers - self.attention_layers) * self.recurrent.state_numbers if self.recurrent else 0

    def linear(self, name: str, layer: int) -> tuple[int, int] | None:
        """(inputs, outputs) of the linear layer called `name` in a layer; None where that has none of the name."""
        found = {"gate_proj": (self.hidden, self.intermediate), "up_proj": (self.hidden, self.intermediate)}
        found["down_proj"] = (self.intermediate, self.hidden)
        recurrent = self.recurrent
        if recurrent is None or layer in recurrent.attends:
            queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
            found["q_proj"] = (self.hidden, queries * (2 if recurrent else 1))  # with the gate of the output
            found |= {"k_proj": (self.hidden, keys), "v_proj": (self.hidden, keys), "o_proj": (queries, self.hidden)}
        else:
            found |= {"in_proj_qkv": (self.hidden, recurrent.mixed), "in_proj_z": (self.hidden, recurrent.values)}
            found |= dict.fromkeys(("in_proj_a", "in_proj_b"), (self.hidden, recurrent.value_heads))
            found["out_proj"] = (recurrent.values, self.hidden)
        return found.get(name)


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
    "qwen3.5-4b": Entry(
        "Qwen/Qwen3.5-4B",
        Architecture(
            *(32, 2560, 9216, 16, 4, 256, 248320, 8, 4_205_751_296),
            recurrent=Recurrent(16, 32, 128, 128, 4, tuple(range(3, 32, 4))),
        ),
    ),
    "qwen3.5-27b": Entry(
        "Qwen/Qwen3.5-27B",
        Architecture(
            *(64, 5120, 17408, 24, 4, 256, 248320, 16, 26_895_998_464),
            recurrent=Recurrent(16, 48, 128, 128, 4, tuple(range(3, 64, 4))),
        ),
    ),
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
        recurrent=_recurrent(config, kinds),
    )


def _recurrent(config: Mapping[str, Any], kinds: Sequence[str]) -> Recurrent | None:
    if "linear_attention" not in kinds:
        return None
    return Recurrent(
        config["linear_num_key_heads"],
        config["linear_num_value_heads"],
        config["linear_key_head_dim"],
        config["linear_value_head_dim"],
        config["linear_conv_kernel_dim"],
        tuple(layer for layer, kind in enumerate(kinds) if kind != "linear_attention"),
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
