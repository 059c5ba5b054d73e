"""Perturbing, updating and replaying build the same noise, bit by bit; a block only masks, a sign only mirrors it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.config.names import SPACES
from esagent.config.schema import Noise, SpaceConfig
from esagent.core.laws import LAWS, Law
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces import parameters as module
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import make_partition
from esagent.spaces.registry import make_space
from esagent.spaces.tensors import SearchTensor
from tests.helpers.tiny import make_tiny

TENSORS = (
    SearchTensor("layers.0.q_proj.weight", "layers.0.q_proj", 35 * 41, 1.5, "a", 0, row=41),
    SearchTensor("layers.0.q_proj.bias", "layers.0.q_proj", 37, 0.5, "a", 0),
    SearchTensor("layers.1.o_proj.weight", "layers.1.o_proj", 1000, 2.0, "b", 1, row=10),
)
NAMES = ("module", "layer", "kind", "whole", "random")


def searched(law: Law = "gaussian", partition: str = "module", centre: float = 0.25) -> Parameters:
    start = {t.name: torch.linspace(-centre, centre, t.size) for t in TENSORS}
    return Parameters(TENSORS, make_partition(partition, 3, True), Dense(law=law), start)


def values(parameters: Parameters, perturbation: Perturbation | None) -> torch.Tensor:
    return torch.cat([part for t in TENSORS for _, part in parameters.ranges(t, perturbation)])


def everywhere(parameters: Parameters, sigma: float = 0.1) -> dict[str, float]:
    return {block.name: sigma for block in parameters.blocks()}


@settings(max_examples=20, deadline=None)
@given(law=st.sampled_from(LAWS), seed=st.integers(0, 2**64 - 1), start=st.integers(0, 10**6))
def test_drawing_adding_and_summing_are_the_same_noise(law: Law, seed: int, start: int) -> None:
    form, tensor = Dense(law=law), TENSORS[0]
    noise = form.draw(seed, tensor, start, 99)
    assert torch.equal(form.total([(seed, 1.0)], tensor, start, 99), noise.double())
    assert torch.equal(form.add(torch.ones(99), seed, 0.3, tensor, start), 1 + 0.3 * noise)
    assert torch.equal(form.total([(seed, 0.3), (5, 0.0), (seed, -0.3)], tensor, start, 99), torch.zeros(99).double())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("partition", NAMES)
def test_a_partition_only_masks(law: Law, partition: str) -> None:
    reference = searched(law, "whole")
    base, moved = values(reference, None), values(reference, Perturbation(3, 1, {"whole": 0.1}))
    parameters = searched(law, partition)
    assert torch.equal(values(parameters, Perturbation(3, 1, everywhere(parameters), 77)), moved)
    covered = torch.zeros(len(base), dtype=torch.int64)
    for block in parameters.blocks():
        alone = values(parameters, Perturbation(3, 1, {block.name: 0.1}, 77))
        assert bool(((alone == base) | (alone == moved)).all())
        covered += alone != base
    assert torch.equal(covered, (moved != base).long())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("partition", ["module", "random"])
def test_a_sign_only_mirrors(law: Law, partition: str) -> None:
    parameters = searched(law, partition, centre=0.0)
    plus, minus = (values(parameters, Perturbation(3, sign, everywhere(parameters), 77)) for sign in (1, -1))
    assert torch.equal(plus, -minus)
    assert bool((plus != 0).all())
    afresh = values(parameters, Perturbation(4, -1, everywhere(parameters), 77))
    assert not torch.equal(plus, -afresh)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("partition", NAMES)
def test_ranges_and_threads_do_not_matter(law: Law, partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results, threads = [], torch.get_num_threads()
    try:
        for size, count in ((1 << 18, 1), (1 << 18, 2), (1, 2), (100, 1), (1000, 2)):
            monkeypatch.setattr(module, "RANGE", size)
            torch.set_num_threads(count)
            parameters = searched(law, partition)
            terms = tuple(UpdateTerm(i, everywhere(parameters, 0.5 - i)) for i in range(3))
            digest = parameters.apply(Update(0, terms, everywhere(parameters, 0.01), "adam")).digest
            results.append((digest, values(parameters, Perturbation(9, -1, everywhere(parameters), 5)).tolist()))
    finally:
        torch.set_num_threads(threads)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "skills"])  # skills are of no model
@pytest.mark.parametrize("noise", list(Noise))
def test_a_space_searches_with_the_law_that_is_chosen(name: str, noise: Noise) -> None:
    config = SpaceConfig(name=name, layers="1", rank=1, noise=noise, partition="whole")
    parameters = make_space(config, make_tiny("llama")[0], ["m"]).parameters
    for tensor in parameters.tensors:
        base, moved = (
            torch.cat([part for _, part in parameters.ranges(tensor, member)])
            for member in (None, Perturbation(1, 1, {"whole": 8.0}))
        )
        sizes = (moved - base).abs() / (8.0 * tensor.scale)
        assert bool(torch.isclose(sizes, torch.ones(())).all()) is (noise is Noise.rademacher)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("partition", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_written_out_a_member_is_what_its_ranges_are(law: Law, partition: str, dtype: torch.dtype) -> None:
    parameters = searched(law, partition)
    member = Perturbation(3, -1, everywhere(parameters), 77)
    written = [torch.empty(t.size, dtype=dtype) for t in TENSORS]
    for out, tensor in zip(written, TENSORS, strict=True):
        parameters.write(out, tensor, member)
    assert torch.equal(torch.cat(written), values(parameters, member).to(dtype))
