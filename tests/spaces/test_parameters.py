"""The searched parameters: perturbation, update, replay and snapshots agree to the bit."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.core.noise import direction_seed, gaussian
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import RunError
from esagent.spaces.parameters import Parameters
from esagent.spaces.tensors import SearchTensor

TENSORS = (
    SearchTensor("layer.0.bias", "layer.0", 5, 2.0, "a"),
    SearchTensor("layer.1.bias", "layer.1", 7, 0.5, "a"),
    SearchTensor("layer.0.bias", "layer.0", 5, 2.0, "b"),
)


def update(step: int = 0, rule: str = "plain", normalise: str = "none", **scalars: float) -> Update:
    terms = tuple(UpdateTerm(direction_seed(1, step, i), {"a": 0.5 - i, "b": 0.25 * i}) for i in range(3))
    return Update(step, terms, {"a": 0.1, "b": 0.2}, rule, normalise, scalars)  # type: ignore[arg-type]


def test_a_perturbation_is_sign_times_sigma_times_scale_times_noise() -> None:
    parameters = Parameters(TENSORS)
    seed = direction_seed(1, 2, 3)
    values = parameters.values("a", Perturbation(seed, -1, {"a": 0.3}))
    torch.testing.assert_close(values["layer.1.bias"], -0.3 * 0.5 * gaussian(seed, "layer.1.bias@a", 0, 7))
    assert torch.equal(parameters.values("b", Perturbation(seed, -1, {"a": 0.3}))["layer.0.bias"], torch.zeros(5))


def test_tensors_of_one_shape_get_different_noise_under_one_seed() -> None:
    wide = [SearchTensor(f"layer.{i}.bias", f"layer.{i}", 4096, 1.0, "a") for i in range(2)]
    one, two = Parameters(wide).values("a", Perturbation(9, 1, {"a": 1.0})).values()
    assert abs(float(torch.corrcoef(torch.stack([one, two]))[0, 1])) < 4 / math.sqrt(4096)


def test_a_plain_update_is_the_weighted_sum_of_its_directions() -> None:
    parameters = Parameters(TENSORS)
    applied = parameters.apply(update())
    for tensor, rate in zip(TENSORS, (0.1, 0.1, 0.2), strict=True):
        weights = {"a": (0.5, -0.5, -1.5), "b": (0.0, 0.25, 0.5)}[tensor.owner]
        noise = [gaussian(direction_seed(1, 0, i), tensor.name, 0, tensor.size) for i in range(3)]
        expected = rate * tensor.scale * sum(w * n for w, n in zip(weights, noise, strict=True))
        torch.testing.assert_close(parameters.centre[tensor.name], expected)
    assert applied.cosine == pytest.approx(1.0, abs=1e-6)
    assert applied.unmoved == 0.0


def test_a_normalised_step_has_the_length_it_was_given() -> None:
    assert Parameters(TENSORS).apply(update(normalise="block")).moved == pytest.approx({"a": 0.1, "b": 0.2})


def test_normalised_over_all_blocks_a_block_with_half_the_signal_takes_half_the_step() -> None:
    wide = [SearchTensor("layer.0.bias", "layer.0", 40_000, 3.0, b) for b in "ab"]
    moved = (
        Parameters(wide)
        .apply(Update(0, (UpdateTerm(5, {"a": 2.0, "b": 1.0}),), {"a": 0.1, "b": 0.1}, normalise="total"))
        .moved
    )
    assert moved["a"] == pytest.approx(2 * moved["b"], rel=0.02)
    assert (moved["a"] ** 2 + moved["b"] ** 2) / 2 == pytest.approx(0.1**2)


def test_a_zero_estimate_moves_nothing() -> None:
    parameters = Parameters(TENSORS)
    before = parameters.digest()
    applied = parameters.apply(Update(0, (), {"a": 0.1, "b": 0.2}, normalise="block"))
    assert applied.digest == before
    assert math.isnan(applied.cosine)


def test_momentum_accumulates_as_by_hand() -> None:
    parameters = Parameters(TENSORS[:1])
    one = Update(0, (UpdateTerm(5, {"a": 1.0}),), {"a": 1.0}, "momentum", scalars={"momentum": 0.5})
    parameters.apply(one)
    parameters.apply(one)
    noise = 2.0 * gaussian(5, TENSORS[0].name, 0, 5)
    torch.testing.assert_close(parameters.centre[TENSORS[0].name], noise + 1.5 * noise)


def test_adam_first_step_is_the_sign_of_the_estimate() -> None:
    parameters = Parameters(TENSORS[:1])
    parameters.apply(Update(0, (UpdateTerm(5, {"a": 3.0}),), {"a": 0.1}, "adam"))
    sign = torch.sign(gaussian(5, TENSORS[0].name, 0, 5))
    torch.testing.assert_close(parameters.centre[TENSORS[0].name], 0.1 * 2.0 * sign, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalise", ["block", "total"])
def test_a_rule_sees_the_normalised_estimate(normalise: str) -> None:
    """Adam's first step is the sign of the estimate times the step size, whatever the estimate is divided by before."""
    parameters = Parameters(TENSORS[:1])
    parameters.apply(Update(0, (UpdateTerm(5, {"a": 3e-4}),), {"a": 0.1}, "adam", normalise))  # type: ignore[arg-type]
    sign = torch.sign(gaussian(5, TENSORS[0].name, 0, 5))
    torch.testing.assert_close(parameters.centre[TENSORS[0].name], 0.1 * 2.0 * sign, rtol=1e-5, atol=1e-6)


def test_momentum_of_normalised_steps_adds_up_their_directions() -> None:
    """m <- beta m + g / rms(g): estimates of unequal size weigh the same."""
    parameters = Parameters(TENSORS[:1])
    for step, size in enumerate((1.0, 1e-3)):
        parameters.apply(
            Update(step, (UpdateTerm(5, {"a": size}),), {"a": 0.1}, "momentum", "block", {"momentum": 0.5})
        )
    noise = gaussian(5, TENSORS[0].name, 0, 5)
    torch.testing.assert_close(
        parameters.centre[TENSORS[0].name], 0.1 * 2.0 * (1 + 1.5) * noise / noise.square().mean().sqrt()
    )


def test_a_pull_takes_its_share_of_the_way_back_to_the_start(tmp_path: Path) -> None:
    """From 3 away with pull 0.5 and a step size of 0.2: 10% of the way back, in every unit of scale."""
    start = {t.name: torch.full((t.size,), 7.0) for t in TENSORS}
    parameters = Parameters(TENSORS, start=start)
    parameters.apply(Update(0, (), {"a": 0.2, "b": 0.2}, scalars={"pull": 0.5}))
    assert all((centre == 7.0).all() for centre in parameters.centre.values())
    for tensor in TENSORS:
        parameters.centre[tensor.name] += 3.0
    parameters.save(tmp_path / "s.safetensors")
    again = Parameters(TENSORS)
    again.load(tmp_path / "s.safetensors")  # the start is remembered
    for resumed in (parameters, again):
        resumed.apply(Update(1, (), {"a": 0.2, "b": 0.2}, scalars={"pull": 0.5}))
        for centre in resumed.centre.values():
            torch.testing.assert_close(centre, torch.full_like(centre, 9.7))
    assert again.digest() == parameters.digest()
    again.forget_optimiser()  # a run that starts from here is pulled to here
    again.apply(Update(0, (), {"a": 0.2, "b": 0.2}, scalars={"pull": 0.5}))
    torch.testing.assert_close(again.centre[TENSORS[0].name], torch.full((5,), 9.7))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.sampled_from(["plain", "momentum", "adam"]), st.sampled_from(["none", "block", "total"]))
def test_replay_and_snapshots_give_the_same_bits(
    tmp_path_factory: pytest.TempPathFactory, steps: int, rule: str, normalise: str
) -> None:
    updates = [update(step, rule, normalise, momentum=0.9) for step in range(steps)]
    straight, resumed = Parameters(TENSORS), Parameters(TENSORS)
    for item in updates:
        straight.apply(item)
    path: Path = tmp_path_factory.mktemp("snapshot") / "s.safetensors"
    halfway = Parameters(TENSORS)
    for item in updates[: steps // 2]:
        halfway.apply(item)
    halfway.save(path)
    resumed.load(path)
    for item in updates[steps // 2 :]:
        digest = resumed.apply(item).digest
    assert digest == straight.digest()


def test_a_snapshot_of_another_space_is_refused(tmp_path: Path) -> None:
    Parameters(TENSORS[:1]).save(tmp_path / "s.safetensors")
    with pytest.raises(RunError, match=r"layer\.1\.bias@a"):
        Parameters(TENSORS).load(tmp_path / "s.safetensors")
