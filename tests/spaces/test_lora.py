"""`lora`: what is searched, from where, and what sigma means."""

from __future__ import annotations

import pytest
import torch

from esagent.config.schema import SpaceConfig
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces.registry import make_space
from tests.helpers.tiny import make_tiny


def made(**settings: object):
    model, _ = make_tiny("llama")
    sites = ["q_proj", "up_proj", "down_proj"]
    return make_space(SpaceConfig("lora", "1-2", sites, **settings), model, ["a", "b"])  # type: ignore[arg-type]


def test_only_b_is_searched_unless_a_has_a_sigma() -> None:
    kinds = {tensor.weight.rpartition(".lora_")[2] for tensor in made().parameters.tensors}
    assert kinds == {"B.weight"}
    kinds = {tensor.weight.rpartition(".lora_")[2] for tensor in made(sigma_a=0.1).parameters.tensors}
    assert kinds == {"A.weight", "B.weight"}


@pytest.mark.parametrize("sigma_a", [0.0, 0.5])
def test_a_has_orthonormal_rows_of_its_own_and_b_is_zero(sigma_a: float) -> None:
    space = made(sigma_a=sigma_a, rank=5)
    factors = space.low_rank(space.parameters.values("a"))
    for down, up in factors.values():
        torch.testing.assert_close(down @ down.T, torch.eye(5), atol=1e-5, rtol=0)
        assert not up.any()
    one, two = (factors[f"model.layers.{layer}.self_attn.q_proj"][0] for layer in (1, 2))
    assert float((one @ two.T).abs().max()) < 0.9, "layers of one shape must differ"


@pytest.mark.parametrize("rank", [2, 16])
def test_sigma_is_the_change_of_the_output_relative_to_it(rank: int) -> None:
    """For independent inputs of unit variance E|y|^2 is |W|_F^2, so it is the ratio of Frobenius norms."""
    space = made(rank=rank)
    member = Perturbation(3, 1, {"a": 0.2})
    changes, _ = space.dense(space.parameters.values("a", member))
    ratios = [float(changes[site.path].norm() / site.module.weight.norm()) for site in space.sites]
    assert ratios == pytest.approx([0.2] * len(ratios), rel=0.15)
    assert sum(ratios) / len(ratios) == pytest.approx(0.2, rel=0.05)


def test_factors_on_sigma_scale_perturbation_and_step_of_each_matrix() -> None:
    one, two = made(sigma_a=0.5, sigma_b=1.0), made(sigma_a=1.0, sigma_b=4.0)
    ratio = {"A": 2.0, "B": 4.0}
    move = Update(0, (UpdateTerm(5, {"a": 1.0, "b": 1.0}),), {"a": 0.1, "b": 0.1})
    start = {name: value.clone() for name, value in one.parameters.centre.items()}
    one.parameters.apply(move)
    two.parameters.apply(move)
    for tensor in one.parameters.tensors:
        factor = ratio[tensor.weight.rpartition(".lora_")[2][0]]
        before, small, large = (
            start[tensor.name],
            one.parameters.centre[tensor.name],
            two.parameters.centre[tensor.name],
        )
        torch.testing.assert_close(large - before, factor * (small - before), atol=1e-6, rtol=1e-4)
        assert float((small - before).abs().max()) > 0


def test_modules_share_where_a_starts_and_move_apart() -> None:
    space = made(sigma_a=0.5)
    a, b = (space.parameters.values(module)["model.layers.1.self_attn.q_proj.lora_A.weight"] for module in "ab")
    assert torch.equal(a, b)
    space.parameters.apply(Update(0, (UpdateTerm(5, {"a": 1.0, "b": 1.0}),), {"a": 0.1, "b": 0.1}))
    a, b = (space.parameters.values(module)["model.layers.1.self_attn.q_proj.lora_A.weight"] for module in "ab")
    assert not torch.equal(a, b)
