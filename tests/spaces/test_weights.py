"""Weights searched in place: what stands in the model follows from the centre alone, to the bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from esagent.core.noise import direction_seed, gaussian
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import RunError
from esagent.spaces import parameters
from esagent.spaces.forms import Dense
from esagent.spaces.named import Named, find_parameters
from esagent.spaces.partitions import make_partition
from esagent.spaces.weights import Weights
from tests.helpers.tiny import make_tiny

BF16, FP32 = torch.bfloat16, torch.float32


def store(
    dtype: torch.dtype = BF16,
    *,
    partition: str = "whole",
    include: tuple[str, ...] = (),
    keep_master: bool = True,
    relative: bool = False,
    kind: str = "llama",
) -> tuple[Any, Weights]:
    model, _ = make_tiny(kind, layers=2, dtype=dtype)
    found = find_parameters(model, include)
    return model, Weights(
        found, make_partition(partition, 3, True), Dense(), relative=relative, keep_master=keep_master
    )


def bits(model: Any) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return all(torch.equal(one[name], two[name]) for name in one)


def member(i: int, sigma: float = 0.01, **blocks: float) -> Perturbation:
    return Perturbation(direction_seed(5, 0, i // 2), 1 - 2 * (i % 2), blocks or {"whole": sigma}, partition=9)


def update(step: int, size: float = 0.003, rule: str = "plain", normalise: str = "none", **scalars: float) -> Update:
    terms = tuple(UpdateTerm(direction_seed(6, step, i), {"whole": 0.6 - 0.5 * i}) for i in range(3))
    return Update(step, terms, {"whole": size}, rule, normalise, scalars, partition=step + 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [FP32, BF16])
def test_a_member_is_the_centre_plus_noise_rounded_once(dtype: torch.dtype) -> None:
    model, weights = store(dtype)
    base = bits(model)
    weights.show(member(1))
    for name, now in bits(model).items():
        noise = gaussian(member(1).seed, name, 0, now.numel()).view(now.shape)
        torch.testing.assert_close(now, (base[name].float() - 0.01 * noise).to(dtype), atol=1e-7, rtol=1e-7)


def test_a_tied_parameter_is_perturbed_once() -> None:
    """By the noise of its first name; the head sees the very same numbers."""
    model, weights = store(FP32)
    assert [t.name for t in weights.tensors if "lm_head" in t.name or "embed" in t.name] == [
        "model.embed_tokens.weight"
    ]
    before = model.lm_head.weight.clone()
    weights.show(member(0))
    noise = gaussian(member(0).seed, "model.embed_tokens.weight", 0, before.numel()).view(before.shape)
    torch.testing.assert_close(model.lm_head.weight - before, 0.01 * noise, atol=1e-6, rtol=0)
    assert model.lm_head.weight is model.model.embed_tokens.weight


@pytest.mark.parametrize("keep_master", [True, False])
def test_a_thousand_cycles_leave_no_trace(keep_master: bool) -> None:
    """Restored from the copy, not by subtraction, which would have changed about half of the numbers."""
    model, weights = store(keep_master=keep_master, include=("layers.1.mlp", "norm"))
    weights.apply(update(0))
    centre, digest = bits(model), weights.digest()
    for i in range(1000):
        weights.show(member(i))
        if i in (0, 999):
            assert not same(bits(model), centre)
        if i % 2:
            weights.show(None)
            if i % 100 == 1:
                assert same(bits(model), centre)
    assert same(bits(model), centre)
    assert weights.digest() == digest


@pytest.mark.parametrize("keep_master", [True, False])
def test_a_member_is_the_same_whoever_came_before(keep_master: bool) -> None:
    model, weights = store(keep_master=keep_master)
    weights.show(member(3))
    alone = bits(model)
    for other in (member(2), None, member(7, 0.5), member(3)):
        weights.show(other)
    assert same(bits(model), alone)


def test_only_what_changes_is_written() -> None:
    model, weights = store(partition="layer", kind="qwen2")
    written: list[int] = []
    weights.watchers.append(lambda flat: written.append(flat.data_ptr()))
    layers = [{p.data_ptr() for p in layer.parameters()} for layer in model.model.layers]

    def writes(perturbation: Perturbation | None) -> list[int]:
        written.clear()
        weights.show(perturbation)
        assert len(set(written)) == len(written)
        return written

    upper, lower = member(0, **{"layer-01": 0.1}), member(2, **{"layer-00": 0.1})
    assert set(writes(upper)) == layers[1]
    assert writes(upper) == []
    assert set(writes(lower)) == layers[0] | layers[1]
    assert set(writes(None)) == layers[0]
    assert writes(None) == []
    weights.apply(Update(0, (), {}))
    assert len(written) == len(weights.tensors)


def test_random_parts_perturb_their_own_numbers_alone() -> None:
    model, weights = store(FP32, partition="random")
    base = bits(model)
    changed = []
    for part in range(3):
        weights.show(member(0, **{f"part-{part}": 0.1}))
        changed.append({name: now != base[name] for name, now in bits(model).items()})
    for name in base:
        assert torch.equal(sum(c[name].int() for c in changed), torch.ones_like(base[name], dtype=torch.int32))


def test_whoever_is_stopped_while_showing_a_member_can_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    model, weights = store()
    base = bits(model)
    write, left = weights.write, iter(range(5))

    def stopped(*args: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        write(*args)

    monkeypatch.setattr(weights, "write", stopped)
    with pytest.raises(KeyboardInterrupt):
        weights.show(member(0))
    assert not same(bits(model), base)
    monkeypatch.setattr(weights, "write", write)
    weights.show(None)
    assert same(bits(model), base)


def test_with_a_master_no_step_is_lost_and_the_model_shows_it_rounded() -> None:
    model, weights = store()
    base = bits(model)
    start = {name: value.clone() for name, value in weights.centre.items()}
    applied = weights.apply(update(0, 1e-4))
    wanted, moved, stuck = [], [], []
    for name, now in bits(model).items():
        noise = [gaussian(t.seed, name, 0, now.numel()).double() for t in update(0).terms]
        intended = 1e-4 * sum((0.6 - 0.5 * i) * n for i, n in enumerate(noise))
        torch.testing.assert_close(weights.centre[name].double() - start[name], intended, atol=1e-7, rtol=0)
        assert torch.equal(now.flatten(), weights.centre[name].bfloat16())
        wanted.append(intended)
        moved.append((now.double() - base[name].double()).flatten())
        stuck.append((moved[-1] == 0) & (intended != 0))
    intended, shown = torch.cat(wanted), torch.cat(moved)
    assert applied.cosine == pytest.approx(float(torch.cosine_similarity(intended, shown, 0)), rel=1e-6)
    assert applied.unmoved == pytest.approx(float(torch.cat(stuck).double().mean()), rel=1e-6)
    assert 0.3 < applied.unmoved < 0.99, "most steps must be below the gap between two bfloat16"


def test_small_steps_add_up_under_a_master_and_under_stochastic_rounding_but_not_otherwise() -> None:
    """64 steps of a thirtieth of the gap between neighbours, all in one direction."""
    steps = [Update(step, (UpdateTerm(3, {"whole": 1.0}),), {"whole": 1e-4}, partition=step) for step in range(64)]
    found = {}
    for keep_master in (True, False):
        model, weights = store(keep_master=keep_master, include=("norm",))
        base = bits(model)
        for item in steps:
            weights.apply(item)
        after = bits(model)
        names = [tensor.name for tensor in weights.tensors]
        intended = torch.cat([64e-4 * gaussian(3, name, 0, 64) for name in names])
        moved = torch.cat([(after[name] - base[name]).float() for name in names])
        found[keep_master] = float(torch.dot(moved, intended) / torch.dot(intended, intended))
        naive = torch.cat([base[name].clone() for name in names])
        for _ in steps:
            naive = (naive.float() + intended / 64).bfloat16()
        stuck = torch.dot(naive.float() - torch.cat([base[name] for name in names]).float(), intended)
        assert abs(float(stuck / torch.dot(intended, intended))) < 0.2
    assert found[True] == pytest.approx(1.0, abs=0.05)
    assert found[False] == pytest.approx(1.0, abs=0.2)


def test_stochastic_updates_are_right_on_average() -> None:
    """The mean over 400 keys of what was applied equals what was meant, within four standard errors."""
    _, weights = store(keep_master=False, include=("model.norm",))
    (tensor,) = weights.tensors
    start = weights.centre[tensor.name].clone()
    noise = gaussian(3, tensor.name, 0, tensor.size)
    total = torch.zeros(tensor.size, dtype=torch.float64)
    for key in range(400):
        weights.centre[tensor.name].copy_(start)
        weights.apply(Update(0, (UpdateTerm(3, {"whole": 1.0}),), {"whole": 1e-3}, partition=key))
        total += weights.centre[tensor.name].double() - start.double()
    gap = start.abs().double().log2().floor().exp2() / 128
    error = (total / 400 - 1e-3 * noise.double()) / (gap / 2 / math.sqrt(400))
    assert float(error.abs().max()) < 4.5
    assert float(error.square().mean()) < 1.5


def test_mirrored_members_are_mirrored_under_stochastic_rounding() -> None:
    model, weights = store(keep_master=False, include=("layers.0.mlp.down",))
    (name,) = (tensor.name for tensor in weights.tensors)
    base = bits(model)[name].double()
    weights.show(member(0, 1e-4))
    plus = bits(model)[name].double() - base
    weights.show(member(1, 1e-4))
    minus = bits(model)[name].double() - base
    assert float((plus == -minus).double().mean()) > 0.98  # but at the ends of binades, where gaps differ
    assert float((plus != 0).double().mean()) > 0.02
    noise = gaussian(member(0).seed, name, 0, base.numel()).double()
    assert float(torch.dot((plus - minus).flatten() / 2, noise) / torch.dot(noise, noise)) == pytest.approx(
        1e-4, rel=0.1
    )


@pytest.mark.parametrize("keep_master", [True, False])
@pytest.mark.parametrize("rule", ["plain", "momentum", "adam"])
@pytest.mark.parametrize("normalise", ["none", "block"])
def test_replay_and_snapshots_give_the_same_bits(keep_master: bool, rule: str, normalise: str, tmp_path: Path) -> None:
    updates = [update(step, 0.002, rule, normalise, momentum=0.9) for step in range(3)]
    model, straight = store(keep_master=keep_master, include=("layers.1", "norm"))
    digests = [straight.apply(updates[0]).digest]
    straight.save(tmp_path / "s.safetensors")
    straight.show(member(0))  # a member in between changes nothing
    digests += [straight.apply(item).digest for item in updates[1:]]
    assert len(set(digests)) == 3
    other, resumed = store(keep_master=keep_master, include=("layers.1", "norm"))
    resumed.show(member(1))
    resumed.load(tmp_path / "s.safetensors")
    assert resumed.digest() == digests[0]
    assert [resumed.apply(item).digest for item in updates[1:]] == digests[1:]
    assert same(bits(model), bits(other))


def test_a_snapshot_is_shown_at_once(tmp_path: Path) -> None:
    model, weights = store()
    weights.apply(update(0))
    weights.save(tmp_path / "s.safetensors")
    other, loaded = store()
    written: list[Tensor] = []
    loaded.watchers.append(written.append)
    loaded.load(tmp_path / "s.safetensors")
    assert same(bits(model), bits(other))
    assert len(written) == len(loaded.tensors)


def test_digests_see_every_number_and_the_optimiser(tmp_path: Path) -> None:
    _, weights = store()
    digests = {weights.digest()}
    name = weights.tensors[-1].name
    weights.centre[name][-1] += 1e-6
    digests.add(weights.digest())
    weights.apply(update(0, 0.0, "momentum", momentum=0.5))
    digests.add(weights.digest())
    assert len(digests) == 3
    weights.forget_optimiser()
    assert weights.digest() in digests


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"keep_master": False}, "is kept in torch.bfloat16 there and in torch.float32 here"),
        ({"include": ("layers.1",)}, "no tensor 'model.embed_tokens.weight' of 20480 numbers"),
    ],
)
def test_a_snapshot_of_another_space_is_refused(other: dict[str, Any], says: str, tmp_path: Path) -> None:
    store(**other)[1].save(tmp_path / "s.safetensors")
    model, weights = store()
    before, digest = bits(model), weights.digest()
    with pytest.raises(RunError, match=says):
        weights.load(tmp_path / "s.safetensors")
    assert weights.digest() == digest
    assert same(bits(model), before)


def test_a_relative_sigma_is_in_units_of_each_parameters_rms() -> None:
    model, weights = store(FP32, relative=True, kind="qwen2")
    base = bits(model)
    assert {t.name: t.scale for t in weights.tensors} == pytest.approx(
        {name: float(value.square().mean().sqrt()) for name, value in base.items()}, rel=1e-5
    )
    weights.show(member(0, 0.3))
    change = bits(model)["model.norm.weight"] - base["model.norm.weight"]
    assert float(change.std()) == pytest.approx(0.3, rel=0.25)


def test_parameters_of_zeros_have_no_scale_of_their_own() -> None:
    model, _ = make_tiny("qwen2", layers=2)
    model.model.layers[0].self_attn.q_proj.bias.zero_()
    found, partition = find_parameters(model), make_partition("whole", 1, True)
    absolute, relative = (
        {t.name for t in Weights(found, partition, relative=relative).tensors} for relative in (False, True)
    )
    assert absolute - relative == {"model.layers.0.self_attn.q_proj.bias"}


def test_no_temporary_is_as_large_as_a_parameter() -> None:
    """The largest tensor made while a member is shown, an update applied and a digest taken is a range's."""
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            given = {t.untyped_storage().data_ptr() for t in args if isinstance(t, Tensor)}
            for t in out if isinstance(out, (tuple, list)) else [out]:
                if isinstance(t, Tensor) and t.untyped_storage().data_ptr() not in given:
                    largest = max(largest, t.numel())
            return out

    model = torch.nn.Module()
    model.big = torch.nn.Parameter(torch.ones(5 * parameters.RANGE, dtype=BF16), requires_grad=False)
    weights = Weights([Named(("big",), model.big.detach(), 0, False)], make_partition("whole", 1, True))
    weights.digest()  # the checksum's factors are made once
    with Watch():
        weights.show(member(0))
        weights.apply(update(0))
        weights.digest()
    assert parameters.RANGE <= largest <= 4 * parameters.RANGE  # four words come of one hash
