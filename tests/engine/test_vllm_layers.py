"""The layout of fused and split tensors is the one that vLLM's own loaders make, at the sizes of real models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from esagent.backends.vllm.layout import Band, band_of
from tests.backends.test_vllm_layout import QWEN, SMOLLM2, Sizes
from tests.engine.pool import maker

pytestmark = pytest.mark.engine


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes vLLM's layers believe that they are on one device of several. An engine has set up its state before."""
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor import parameter
    from vllm.model_executor.layers import linear, vocab_parallel_embedding

    maker("bias")()

    def on(devices: int, device: int, make: Any) -> Any:
        for module in (linear, vocab_parallel_embedding, parameter):
            for name, value in (("world_size", devices), ("rank", device)):
                whole = f"get_tensor_model_parallel_{name}"
                if hasattr(module, whole):
                    monkeypatch.setattr(module, whole, lambda value=value: value)
        with set_current_vllm_config(VllmConfig()):
            return make()

    return on


def numbered(shape: tuple[int, int]) -> Tensor:
    """A different number in every place that a wrong band could confuse."""
    rows, columns = torch.arange(shape[0], dtype=torch.float32), torch.arange(shape[1], dtype=torch.float32)
    return rows[:, None] * 16384 + columns


def lies(band: Band, held: Tensor, whole: Tensor) -> None:
    part = whole[slice(*band.rows)]
    if band.columns is not None:
        part = part[:, slice(*band.columns)]
    assert torch.equal(held[band.place : band.place + band.height], part)


@pytest.mark.parametrize(("sizes", "devices"), [(SMOLLM2, 1), (SMOLLM2, 3), (QWEN, 2), (QWEN, 16)])
def test_bands_are_those_of_vllms_loaders(sizes: Sizes, devices: int, split: Any) -> None:
    from vllm.model_executor.layers.linear import MergedColumnParallelLinear, QKVParallelLinear, RowParallelLinear

    hidden = 64  # columns of what is split by rows are alike
    for device in (0, devices - 1):
        layer = split(
            devices,
            device,
            lambda: QKVParallelLinear(
                hidden, sizes.head, sizes.heads, sizes.kv_heads, False, params_dtype=torch.float32
            ),
        )
        for part, (label, heads) in enumerate((("q", sizes.heads), ("k", sizes.kv_heads), ("v", sizes.kv_heads))):
            whole = numbered((heads * sizes.head, hidden)) + part * 0.25
            layer.weight.weight_loader(layer.weight, whole, label)
            lies(band_of(layer, part, whole.shape), layer.weight.data, whole)
        layer = split(
            devices,
            device,
            lambda: MergedColumnParallelLinear(hidden, [sizes.inner] * 2, False, params_dtype=torch.float32),
        )
        for part in (0, 1):
            whole = numbered((sizes.inner, hidden)) + part * 0.25
            layer.weight.weight_loader(layer.weight, whole, part)
            lies(band_of(layer, part, whole.shape), layer.weight.data, whole)
        layer = split(
            devices, device, lambda: RowParallelLinear(sizes.inner, hidden, False, params_dtype=torch.float32)
        )
        whole = numbered((hidden, sizes.inner))
        layer.weight.weight_loader(layer.weight, whole)
        lies(band_of(layer, None, whole.shape), layer.weight.data, whole)


def test_the_vocabulary_is_split_as_vllm_splits_it(split: Any) -> None:
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    for device in (0, 1, 3):
        layer = split(4, device, lambda: VocabParallelEmbedding(1000, 8, params_dtype=torch.float32))
        whole = numbered((1000, 8))
        layer.weight.weight_loader(layer.weight, whole)
        lies(band_of(layer, None, whole.shape), layer.weight.data, whole)
