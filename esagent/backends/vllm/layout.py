"""Where the numbers of a Hugging Face parameter lie in vLLM's: fused with others, and split over devices.

vLLM stacks the rows of `q_proj`, `k_proj`, `v_proj` into `qkv_proj` and those of `gate_proj`, `up_proj` into
`gate_up_proj`. Of n devices the r-th holds

    a stack, and any layer that is parallel by columns    a band of rows of each part
    a layer that is parallel by rows (o_proj, down_proj)  a band of columns
    the embedding and the head                            a band of the vocabulary
    everything else                                       all of it

Fewer key and value heads than devices are repeated: n / heads devices hold the same one. Noise is keyed on the name
and the place of a number in the Hugging Face parameter, so that none of this ever shows in a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Band:
    """A part of a parameter on a device.

    rows, columns: half-open ranges of the whole (columns of a vector: None). place: the first row of vLLM's parameter
    that holds it.
    """

    rows: tuple[int, int]
    columns: tuple[int, int] | None
    place: int = 0

    @property
    def height(self) -> int:
        """Number of its rows."""
        return self.rows[1] - self.rows[0]


@dataclass(frozen=True)
class Place:
    """path, kind: of vLLM's parameter, as `model.layers.0.self_attn.qkv_proj` and `weight`."""

    path: str
    kind: str
    band: Band


@dataclass(frozen=True)
class Heads:
    """Of a stack of queries, keys and values: numbers of heads in all, and rows per head."""

    query: int
    kv: int
    size: int


def stacked(name: str, stacks: Mapping[str, Sequence[str]]) -> tuple[str, str, int | None]:
    """(path, kind, part) in vLLM of the Hugging Face parameter `name`: part None where its layer is none of a stack.

    stacks: as a vLLM model lists them, {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}.
    """
    path, _, kind = name.rpartition(".")
    parent, _, layer = path.rpartition(".")
    for stack, parts in stacks.items():
        if len(parts) > 1 and layer in parts:
            return f"{parent}.{stack}", kind, list(parts).index(layer)
    return path, kind, None


def attention_band(heads: Heads, part: int, shape: Sequence[int], devices: int, device: int) -> Band:
    """Of part 0 (queries), 1 (keys) or 2 (values), `shape` being that of the whole part."""
    queries = heads.query // devices
    kv = max(1, heads.kv // devices)
    each = (queries, kv, kv)
    whose = device if part == 0 else device // max(1, devices // heads.kv)
    height = each[part] * heads.size
    return Band((whose * height, (whose + 1) * height), columns(shape), sum(each[:part]) * heads.size)


def merged_band(sizes: Sequence[int], part: int, shape: Sequence[int], devices: int, device: int) -> Band:
    """Of part `part` of a stack whose parts have `sizes` rows in all."""
    height = sizes[part] // devices
    return Band((device * height, (device + 1) * height), columns(shape), sum(sizes[:part]) // devices)


def row_band(shape: Sequence[int], devices: int, device: int) -> Band:
    """Of a layer without a stack that is parallel by columns: a band of its rows."""
    height = shape[0] // devices
    return Band((device * height, (device + 1) * height), columns(shape))


def column_band(shape: Sequence[int], devices: int, device: int) -> Band:
    """Of a layer that is parallel by rows: a band of its columns; a bias is whole."""
    if len(shape) == 1:
        return whole(shape)
    width = shape[1] // devices
    return Band((0, shape[0]), (device * width, (device + 1) * width))


def whole(shape: Sequence[int]) -> Band:
    """All of it."""
    return Band((0, shape[0]), columns(shape))


def columns(shape: Sequence[int]) -> tuple[int, int] | None:
    """All columns of a matrix; None for a vector."""
    return (0, shape[1]) if len(shape) > 1 else None


def band_of(module: Any, part: int | None, shape: Sequence[int]) -> Band:
    """What a vLLM layer holds of a parameter, read off the layer's own attributes; its type goes by its name.

    module: without a LoRA wrapper. part: of a stack. shape: of the whole Hugging Face parameter.
    """
    kinds = {kind.__name__ for kind in type(module).__mro__}
    if kinds & {"VocabParallelEmbedding", "ParallelLMHead"}:
        found = module.shard_indices
        return Band((found.org_vocab_start_index, found.org_vocab_end_index), columns(shape))
    devices, device = getattr(module, "tp_size", 1), getattr(module, "tp_rank", 0)
    if "QKVParallelLinear" in kinds and part is not None:
        heads = Heads(module.total_num_heads, module.total_num_kv_heads, module.head_size)
        return attention_band(heads, part, shape, devices, device)
    if "MergedColumnParallelLinear" in kinds and part is not None:
        return merged_band(module.output_sizes, part, shape, devices, device)
    if "ColumnParallelLinear" in kinds:
        return row_band(shape, devices, device)
    if "RowParallelLinear" in kinds:
        return column_band(shape, devices, device)
    return whole(shape)
