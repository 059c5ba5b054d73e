"""Spaces: per-token terms equal the dense weights they stand for; sites and layers are found or refused by name."""

from __future__ import annotations

import pytest
import torch

from esagent.config.schema import SpaceConfig
from esagent.core.population import Perturbation
from esagent.errors import ConfigError
from esagent.spaces.registry import make_space
from esagent.spaces.sites import find_sites, parse_layers
from esagent.spaces.tensors import Setting
from tests.helpers.tiny import HYBRID, make_tiny

SPACES = {
    "bias": SpaceConfig(name="bias", layers="1-3", sites=["down_proj", "q_proj"]),
    "core-svd": SpaceConfig(name="core", layers="3", sites=["o_proj", "up_proj"], rank=5, init="svd"),
    "core-orthonormal": SpaceConfig(name="core", layers="0,3", sites=["k_proj"], rank=4, init="orthonormal"),
    "lora": SpaceConfig(name="lora", layers="2-3", sites=["v_proj", "down_proj"], rank=3),
    "lora-both": SpaceConfig(name="lora", layers="2", sites=["gate_proj"], rank=4, sigma_a=0.7, sigma_b=2.0),
}


@pytest.mark.parametrize("config", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("kind", ["llama", "qwen2", HYBRID])
def test_terms_equal_the_dense_change(config: SpaceConfig, kind: str) -> None:
    model, _ = make_tiny(kind)
    space = make_space(config, model, ["planner", "caller"])
    members = [Perturbation(7, 1, {"planner": 0.3}), Perturbation(7, -1, {"planner": 0.3}), None]
    slots = [space.parameters.values("planner", member) for member in members]
    terms = space.terms([Setting("planner", member) for member in members])
    generator = torch.Generator().manual_seed(0)
    for path, term in terms.items():
        linear = model.get_submodule(path)
        x = torch.randn(12, linear.in_features, generator=generator)
        slot = torch.tensor([0, 1, 2] * 4)
        got = term(x, slot)
        for t in range(12):
            weights, biases = space.dense(slots[t % 3])
            want = x[t] @ weights[path].T if path in weights else biases[path]
            torch.testing.assert_close(got[t], want, atol=1e-5, rtol=1e-4)
        assert float(got[0].abs().max()) > 0


def test_factors_are_orthonormal_and_singular_vectors_diagonalise_the_weight() -> None:
    model, _ = make_tiny("llama")
    space = make_space(SPACES["core-svd"], model, ["m"])
    one = torch.zeros(5, 5)
    one[0, 0] = 1.0
    for site in space.sites:
        change = space.dense({f"{site.path}.weight": one.flatten()})[0][site.path]
        assert float(change.norm()) == pytest.approx(1.0, abs=1e-4)
        weight = site.module.weight
        assert float((change * weight).sum()) == pytest.approx(float(torch.linalg.matrix_norm(weight, 2)), rel=1e-3)


def test_scale_is_the_rms_singular_value() -> None:
    model, _ = make_tiny("llama")
    for tensor in make_space(SPACES["core-svd"], model, ["m"]).parameters.tensors:
        values = torch.linalg.svdvals(model.get_submodule(tensor.site).weight)
        assert tensor.scale == pytest.approx(float(values.square().mean().sqrt()), rel=1e-4)


def test_the_start_is_the_base_model() -> None:
    model, _ = make_tiny("llama")
    for config in SPACES.values():
        space = make_space(config, model, ["m"])
        for part in space.dense(space.parameters.values("m")):
            assert all(float(change.abs().max()) == 0 for change in part.values())


@pytest.mark.parametrize(
    ("text", "layers"),
    [("all", [0, 1, 2, 3, 4]), ("1-3", [1, 2, 3]), ("4,1-2", [1, 2, 4]), ("last:2", [3, 4]), ("last:2/5", [3, 4])],
)
def test_layers(text: str, layers: list[int]) -> None:
    assert parse_layers(text, 5) == layers


@pytest.mark.parametrize("text", ["", "5", "3-1", "a", "last:0", "last:6", "last:1/0", "1-", "-1", "last:"])
def test_layers_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"space\.layers"):
        parse_layers(text, 5)


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (SpaceConfig(sites=["down_prj"], layers="0"), "down_proj"),
        (SpaceConfig(layers="0", modules=["plannr"]), "plannr"),
        (SpaceConfig(name="core", layers="0", rank=999), "rank"),
        (SpaceConfig(name="lora", layers="0", rank=65), "rank=65.*at most 64"),
        (SpaceConfig(name="coar", layers="0"), "core"),
    ],
)
def test_what_does_not_fit_is_named(config: SpaceConfig, word: str) -> None:
    model, _ = make_tiny("llama")
    with pytest.raises(ConfigError, match=word):
        make_space(config, model, ["planner"])


def test_sites_of_a_stack_that_mixes_layers_are_those_that_are_there() -> None:
    """Layers 3 and 7 are attention, the others are recurrent."""
    model, _ = make_tiny(HYBRID, layers=8)
    found = find_sites(model, "2-5", ["o_proj", "in_proj_qkv", "down_proj"])
    mixers = {2: "in_proj_qkv", 3: "o_proj", 4: "in_proj_qkv", 5: "in_proj_qkv"}
    assert [(site.layer, site.kind) for site in found] == [
        pair for layer, mixer in mixers.items() for pair in ((layer, mixer), (layer, "down_proj"))
    ]
    assert all(model.get_submodule(site.path) is site.module for site in found)
    with pytest.raises(ConfigError, match=r"'o_proj' is in none of the layers 0-2; in this model they are 3,7"):
        find_sites(model, "0-2", ["down_proj", "o_proj"])
    with pytest.raises(ConfigError, match=r"no linear layer 'in_proj' in this model; nearest: in_proj"):
        find_sites(model, "0-2", ["in_proj"])
