"""Fused and split tensors: every number lands where vLLM keeps it, and noise never depends on where that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from esagent.backends.vllm.layout import Band, band_of, stacked
from esagent.backends.vllm.members import Held, Members
from esagent.core.population import Perturbation
from esagent.spaces.factored import LowRank
from esagent.spaces.forms import Dense
from esagent.spaces.named import Named
from esagent.spaces.partitions import Partition, RandomParts, make_partition
from esagent.spaces.weights import Weights

STACKS = {"qkv_proj": ["q_proj", "k_proj", "v_proj"], "gate_up_proj": ["gate_proj", "up_proj"]}


@dataclass
class QKVParallelLinear:
    total_num_heads: int
    total_num_kv_heads: int
    head_size: int
    tp_size: int
    tp_rank: int


@dataclass
class MergedColumnParallelLinear:
    output_sizes: list[int]
    tp_size: int
    tp_rank: int


@dataclass
class RowParallelLinear:
    tp_size: int
    tp_rank: int


@dataclass
class RMSNorm:
    pass


@dataclass
class Indices:
    org_vocab_start_index: int
    org_vocab_end_index: int


@dataclass
class VocabParallelEmbedding:
    shard_indices: Indices


@dataclass
class Sizes:
    """Of a real model: hidden, rows of queries, of keys (and values), of the gate, vocabulary."""

    hidden: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        path = "model.layers.3"
        self.shapes = {
            f"{path}.self_attn.q_proj.weight": (self.heads * self.head, self.hidden),
            f"{path}.self_attn.k_proj.weight": (self.kv_heads * self.head, self.hidden),
            f"{path}.self_attn.v_proj.weight": (self.kv_heads * self.head, self.hidden),
            f"{path}.self_attn.q_proj.bias": (self.heads * self.head,),
            f"{path}.self_attn.k_proj.bias": (self.kv_heads * self.head,),
            f"{path}.self_attn.v_proj.bias": (self.kv_heads * self.head,),
            f"{path}.self_attn.o_proj.weight": (self.hidden, self.heads * self.head),
            f"{path}.mlp.gate_proj.weight": (self.inner, self.hidden),
            f"{path}.mlp.up_proj.weight": (self.inner, self.hidden),
            f"{path}.mlp.down_proj.weight": (self.hidden, self.inner),
            f"{path}.input_layernorm.weight": (self.hidden,),
            "model.embed_tokens.weight": (self.vocabulary, self.hidden),
        }

    def layer(self, path: str, devices: int, device: int) -> Any:
        """A stand-in with the attributes that vLLM's layer has on a device."""
        kind = path.rpartition(".")[2]
        if kind == "qkv_proj":
            return QKVParallelLinear(self.heads, self.kv_heads, self.head, devices, device)
        if kind == "gate_up_proj":
            return MergedColumnParallelLinear([self.inner, self.inner], devices, device)
        if kind in ("o_proj", "down_proj"):
            return RowParallelLinear(devices, device)
        if kind == "embed_tokens":
            edges = [self.vocabulary * i // devices for i in range(devices + 1)]
            return VocabParallelEmbedding(Indices(edges[device], edges[device + 1]))
        return RMSNorm()


SMOLLM2 = Sizes(576, 9, 3, 64, 1536, 49152)
QWEN = Sizes(2560, 32, 8, 128, 9728, 151936)
SMALL = Sizes(24, 8, 2, 6, 32, 40)


def bands(sizes: Sizes, devices: int, device: int) -> Iterator[tuple[str, str, Band]]:
    """(Hugging Face name, vLLM's path and kind, its band) on a device."""
    for name, shape in sizes.shapes.items():
        path, kind, part = stacked(name, STACKS)
        yield name, f"{path}.{kind}", band_of(sizes.layer(path, devices, device), part, shape)


@pytest.mark.parametrize(
    ("sizes", "devices"), [(SMOLLM2, 1), (SMOLLM2, 3), (QWEN, 1), (QWEN, 2), (QWEN, 8), (QWEN, 16), (SMALL, 4)]
)
def test_every_number_lies_on_some_device_and_stacks_have_no_holes(sizes: Sizes, devices: int) -> None:
    held: dict[str, list[Band]] = {}
    for device in range(devices):
        filled: dict[str, list[tuple[int, int]]] = {}
        for name, place, band in bands(sizes, devices, device):
            held.setdefault(name, []).append(band)
            filled.setdefault(place, []).append((band.place, band.place + band.height))
        for spans in filled.values():
            ends = [0, *(end for _, end in sorted(spans))]
            assert [start for start, _ in sorted(spans)] == ends[:-1]
    for name, shape in sizes.shapes.items():
        covered = {(band.rows, band.columns) for band in held[name]}
        area = sum((r[1] - r[0]) * (c[1] - c[0] if c else 1) for r, c in covered)
        assert area == torch.Size(shape).numel(), name


def test_smollm2_on_three_devices_by_hand() -> None:
    """9 query heads of 64 rows over 3 key heads: each device has 192 queries, 64 keys, 64 values, 512 of the gate."""
    found = {name: band for name, _, band in bands(SMOLLM2, 3, 2)}
    path = "model.layers.3"
    assert found[f"{path}.self_attn.q_proj.weight"] == Band((384, 576), (0, 576), 0)
    assert found[f"{path}.self_attn.k_proj.weight"] == Band((128, 192), (0, 576), 192)
    assert found[f"{path}.self_attn.v_proj.weight"] == Band((128, 192), (0, 576), 256)
    assert found[f"{path}.self_attn.k_proj.bias"] == Band((128, 192), None, 192)
    assert found[f"{path}.mlp.up_proj.weight"] == Band((1024, 1536), (0, 576), 512)
    assert found[f"{path}.mlp.down_proj.weight"] == Band((0, 576), (1024, 1536), 0)
    assert found[f"{path}.input_layernorm.weight"] == Band((0, 576), None, 0)


def test_fewer_key_heads_than_devices_are_repeated() -> None:
    """8 key heads of 128 rows on 16 devices: devices 6 and 7 both hold head 3."""
    name = "model.layers.3.self_attn.k_proj.weight"
    for device in (6, 7):
        found = {hf: band for hf, _, band in bands(QWEN, 16, device)}
        assert found[name].rows == (384, 512)


def model(sizes: Sizes, dtype: torch.dtype) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(5)
    return {name: torch.randn(shape, generator=generator).mul(0.1).to(dtype) for name, shape in sizes.shapes.items()}


def searched(whole: dict[str, Tensor], partition: Partition, rank: int, master: bool) -> Weights:
    found = [Named((name,), tensor, 3 if "layers" in name else -1, False) for name, tensor in whole.items()]
    return Weights(found, partition, LowRank(rank) if rank else Dense(), relative=True, keep_master=master)


def gathered(name: str, devices: list[dict[str, tuple[Band, Tensor]]], shape: tuple[int, ...]) -> Tensor:
    out = torch.full(shape, float("nan"))
    for held in devices:
        band, part = held[name]
        rows = out[slice(*band.rows)]
        (rows if band.columns is None else rows[:, slice(*band.columns)]).copy_(part)
    return out


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize(
    ("partition", "rank", "dtype", "master"),
    [
        ("whole", 0, torch.float32, True),
        ("whole", 0, torch.bfloat16, True),
        ("kind", 0, torch.bfloat16, False),
        ("random", 0, torch.float32, True),
        ("whole", 2, torch.float32, True),
    ],
)
def test_members_are_the_same_bits_on_any_number_of_devices(
    partition: str, rank: int, dtype: torch.dtype, master: bool, devices: int
) -> None:
    """Written on the devices, band by band, they are those that the model in one piece would hold; and back."""
    whole = model(SMALL, dtype)
    start = {name: tensor.clone() for name, tensor in whole.items()}
    made = RandomParts(3) if partition == "random" else make_partition(partition, 3, False)
    weights = searched(whole, made, rank, master)
    tensors = {tensor.weight: tensor for tensor in weights.tensors}
    layouts: list[dict[str, tuple[Band, Tensor]]] = []
    workers = []
    for device in range(devices):
        stacks: dict[str, Tensor] = {}
        held: dict[str, tuple[Band, Tensor]] = {}
        listed = list(bands(SMALL, devices, device))
        for name, place, band in listed:
            rows = max(b.place + b.height for _, p, b in listed if p == place)
            width = () if band.columns is None else (band.columns[1] - band.columns[0],)
            stack = stacks.setdefault(place, torch.zeros(rows, *width, dtype=dtype))
            held[name] = band, stack[band.place : band.place + band.height]
        layouts.append(held)
        workers.append(
            Members([Held(tensors[n], SMALL.shapes[n], b, view) for n, (b, view) in held.items()], made, weights.form)
        )
    for worker in workers:
        worker.move(weights.centre)
    blocks = [block.name for block in weights.blocks()]
    for member in (
        None,
        Perturbation(11, -1, dict.fromkeys(blocks, 0.3), partition=4),
        Perturbation(12, 1, {blocks[0]: 0.3}, partition=4),
        None,
    ):
        weights.show(member)
        for worker in workers:
            worker.show(member)
        for name, tensor in whole.items():
            assert torch.equal(gathered(name, layouts, tensor.shape).to(dtype), tensor), (name, member)
        if member is None:
            assert all(torch.equal(whole[name], start[name]) for name in whole)
        else:
            assert any(not torch.equal(whole[name], start[name]) for name in whole)
