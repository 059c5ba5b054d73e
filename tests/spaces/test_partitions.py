"""Partitions only mask: blocks are disjoint, cover everything, and leave the noise as it is."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.core.noise import gaussian, partition_key
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces import parameters as module
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import RandomParts, make_partition
from esagent.spaces.tensors import SearchTensor

TENSORS = tuple(
    SearchTensor(
        f"model.layers.{layer}.mlp.{kind}.weight", f"model.layers.{layer}.mlp.{kind}", 60, 1.0, owner, layer, 6
    )
    for owner in ("planner", "caller")
    for layer in (3, 12)
    for kind in ("up_proj", "down_proj")
)
FIXED = {
    "module": ["planner", "caller"],
    "layer": ["layer-03", "layer-12"],
    "kind": ["up_proj", "down_proj"],
    "whole": ["whole"],
}


@pytest.mark.parametrize(("name", "blocks"), FIXED.items(), ids=FIXED)
def test_fixed_blocks_are_named_and_cover_all(name: str, blocks: list[str]) -> None:
    found = Parameters(TENSORS, make_partition(name, 0, False)).blocks()
    assert [block.name for block in found] == blocks
    assert sum(block.size for block in found) == 480


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([*FIXED, "random"]), st.integers(0, 50))
def test_the_blocks_of_a_direction_add_up_to_the_direction(name: str, step: int) -> None:
    parameters, key = Parameters(TENSORS, make_partition(name, 3, True)), partition_key(5, step)
    total = {tensor.name: torch.zeros(60) for tensor in TENSORS}
    for block in parameters.blocks():
        for tensor in TENSORS:
            for start, value in parameters.ranges(tensor, Perturbation(8, 1, {block.name: 0.5}, key)):
                total[tensor.name][start : start + len(value)] += value
    for tensor in TENSORS:
        torch.testing.assert_close(total[tensor.name], 0.5 * gaussian(8, tensor.name, 0, 60))


def test_random_parts_are_redrawn_with_the_key_and_only_then() -> None:
    tensor = SearchTensor("w", "w", 100_000, 1.0)
    one = RandomParts(4).weights(tensor, {"part-1": 1.0}, partition_key(0, 1), 0, 100_000)
    two = RandomParts(4).weights(tensor, {"part-1": 1.0}, partition_key(0, 2), 0, 100_000)
    assert isinstance(one, torch.Tensor)
    assert isinstance(two, torch.Tensor)
    assert float((one * two).mean()) == pytest.approx(1 / 16, abs=0.005)
    fixed = RandomParts(4, redraw=False)
    same = [fixed.weights(tensor, {"part-1": 1.0}, partition_key(0, step), 0, 100_000) for step in (1, 2)]
    assert torch.equal(*same)  # type: ignore[arg-type]


def test_sizes_of_random_parts_are_as_exact_as_said() -> None:
    """Binomial: d/K with standard deviation sqrt(d (K - 1)) / K."""
    d, k = 1_000_000, 4
    tensor = SearchTensor("w", "w", d, 1.0)
    sizes = RandomParts(k).sums(tensor, torch.ones(d), partition_key(0, 0), 0)
    assert sum(sizes.values()) == d
    for size in sizes.values():
        assert abs(size - d / k) < 4.5 * (d * (k - 1)) ** 0.5 / k


@pytest.mark.parametrize("name", [*FIXED, "random"])
@pytest.mark.parametrize("normalise", ["none", "block", "total"])
def test_ranges_change_nothing(name: str, normalise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a bit of a plain step; of a normalised one what fp64 sums in another order round differently at most."""
    names = [block.name for block in Parameters(TENSORS, make_partition(name, 3, True)).blocks()]
    terms = tuple(UpdateTerm(seed, {block: seed / (i + 3) for i, block in enumerate(names)}) for seed in (1, 2, 3))
    update = Update(0, terms, dict.fromkeys(names, 0.3), normalise=normalise, partition=7)  # type: ignore[arg-type]
    centres = []
    for size in (6, 12, 1 << 18):
        monkeypatch.setattr(module, "RANGE", size)
        parameters = Parameters(TENSORS, make_partition(name, 3, True))
        applied = parameters.apply(update)
        centres.append(torch.cat(list(parameters.centre.values())))
        if normalise == "block" and name != "random":
            assert applied.moved == pytest.approx(dict.fromkeys(names, 0.3))
    tolerance = 0.0 if normalise == "none" else 1e-7
    for other in centres[1:]:
        torch.testing.assert_close(other, centres[0], rtol=tolerance, atol=0.0)
