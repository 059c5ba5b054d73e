"""`lowrank`: per-token terms are the dense noise, wherever a parameter acts; what is searched is found or refused."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from esagent.config.schema import Positions, SpaceConfig
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import ConfigError
from esagent.spaces import parameters as ranges
from esagent.spaces.factored import LowRank
from esagent.spaces.registry import make_space
from esagent.spaces.tensors import Setting
from tests.helpers.tiny import KINDS, make_tiny


def config(**settings: object) -> SpaceConfig:
    plain = {
        "name": "lowrank",
        "layers": "all",
        "sites": [],
        "positions": Positions.all,
        "partition": "whole",
        "rank": 2,
    }
    return SpaceConfig(**{**plain, **settings})  # type: ignore[arg-type]


def made(kind: str = "llama", **settings: object):
    model, _ = make_tiny(kind)
    return model, make_space(config(**settings), model, ["planner", "caller"])


def member(i: int, sign: int = 1, sigma: float = 0.1) -> Perturbation:
    return Perturbation(direction_seed(1, 0, i), sign, {"whole": sigma})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 3])
def test_terms_equal_the_dense_change(kind: str, rank: int) -> None:
    """For every layer: what it computes with the member's weights, less what it computes with the model's."""
    model, space = made(kind, rank=rank)
    slots = [None, member(0), member(0, -1), member(1, sigma=0.05), None]
    terms = space.terms([Setting("planner", slot) for slot in slots])
    values = [space.parameters.values("", slot) for slot in slots]
    generator = torch.Generator().manual_seed(0)
    assert set(terms) == {site.path for site in space.sites}
    for site in space.sites:
        layer, slot = site.module, torch.arange(10) % 5
        if isinstance(layer, torch.nn.Embedding):
            x = torch.randint(layer.num_embeddings, (10,), generator=generator)
        else:
            x = torch.randn(10, layer.weight.shape[-1], generator=generator)
        got = terms[site.path](x, slot)
        for t in range(10):
            own = {
                name: values[t % 5][_searched(model, values[0], f"{site.path}.{name}")].view_as(parameter)
                for name, parameter in layer.named_parameters()
            }
            changed = torch.func.functional_call(layer, own, (x[t : t + 1],))
            torch.testing.assert_close(got[t], (changed - layer(x[t : t + 1]))[0], atol=2e-5, rtol=1e-3)
        assert not got[[0, 4]].any()
        assert float(got[1].abs().max()) > 0


def _searched(model: torch.nn.Module, values: dict, name: str) -> str:
    """The name under which a parameter is searched: its own, or that of the one it is tied to."""
    if name in values:
        return name
    return next(other for other in values if model.get_parameter(other) is model.get_parameter(name))


def test_a_member_that_moves_nothing_needs_no_terms() -> None:
    _, space = made()
    assert space.terms([None, Setting("planner", None), Setting("caller", None)]) == {}
    some = made(partition="kind")[1]
    terms = some.terms([None, Setting("a", Perturbation(3, 1, {"up_proj": 0.1, "embed_tokens": 0.0}))])
    assert {path.rpartition(".")[2] for path in terms} == {"up_proj"}


def test_a_tied_embedding_is_one_tensor_in_two_places() -> None:
    model, space = made("llama")
    assert sum(t.size for t in space.parameters.tensors) == sum(p.numel() for p in model.parameters())
    paths = {site.path for site in space.sites}
    assert {"model.embed_tokens", "lm_head"} <= paths
    terms = space.terms([Setting("a", member(0))])
    slot = torch.zeros(320, dtype=torch.int64)
    rows = terms["model.embed_tokens"](torch.arange(320), slot)
    x = torch.eye(64)[:8]
    torch.testing.assert_close(terms["lm_head"](x, slot[:8]), (x @ rows.T), atol=1e-5, rtol=1e-4)
    untied, apart = made("qwen2")
    assert sum(t.size for t in apart.parameters.tensors) == sum(p.numel() for p in untied.parameters())
    assert {"model.embed_tokens.weight", "lm_head.weight"} <= {t.name for t in apart.parameters.tensors}


@pytest.mark.parametrize(
    ("include", "lowest"),
    [([], 0), ([r"layers\.2\."], 2), (["lm_head", r"layers\.3"], 0), (["model.norm"], 3), (["embed"], 0)],
)
def test_what_lies_below_the_lowest_searched_layer_is_shared(include: list[str], lowest: int) -> None:
    """The head of a Llama that is tied counts as its embedding."""
    assert made("llama", include=include)[1].lowest_layer == lowest
    assert made("qwen3", include=["lm_head", r"layers\.3"])[1].lowest_layer == 3


def test_vectors_can_be_left_out() -> None:
    _, space = made("qwen2", vectors="none")
    assert all(tensor.row for tensor in space.parameters.tensors)
    _, every = made("qwen2")
    vectors = {t.name.rpartition(".")[2] for t in every.parameters.tensors if not t.row}
    assert vectors == {"weight", "bias"}
    with pytest.raises(ConfigError, match=r"space\.vectors=none"):
        made("qwen2", vectors="none", include=["norm"])


def test_a_layer_that_no_batch_can_hold_for_several_members_is_named() -> None:
    model, _ = make_tiny("llama")
    model.model.layers[1].mixer = torch.nn.Conv1d(4, 4, 3)
    with pytest.raises(ConfigError, match=r"layers\.1\.mixer\.weight of a Conv1d.*space\.exclude"):
        make_space(config(), model, ["a"])
    make_space(config(exclude=["mixer"]), model, ["a"])


def test_random_parts_are_refused() -> None:
    _, space = made(partition="random")
    with pytest.raises(ConfigError, match="one sigma"):
        space.terms([Setting("a", Perturbation(3, 1, {"part-0": 0.1}, 7))])


def update(step: int, weights: tuple[float, ...], size: float = 0.01) -> Update:
    terms = tuple(UpdateTerm(direction_seed(4, step, i), {"whole": w}) for i, w in enumerate(weights))
    return Update(step, terms, {"whole": size})


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_an_update_is_the_accumulated_sum_of_outer_products(kind: str) -> None:
    """alpha sum_i c_i A_i B_i^T / sqrt(r), by hand, on every matrix; it has more than rank r."""
    model, space = made(kind, rank=2)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    weights = (1.0, -0.5, 0.25, 2.0)
    space.parameters.apply(update(0, weights))
    form = LowRank(2)
    for tensor in space.parameters.tensors:
        got = model.get_parameter(tensor.name) - before[tensor.name]
        if tensor.row:
            total = torch.zeros(tensor.size // tensor.row, tensor.row, dtype=torch.float64)
            for i, weight in enumerate(weights):
                up, down = form.factors(direction_seed(4, 0, i), tensor)
                total += weight * up.double() @ down.double().T / math.sqrt(2)
            assert int(torch.linalg.matrix_rank(total)) == 8
            torch.testing.assert_close(got, (0.01 * total).float(), atol=2e-6, rtol=1e-4)
        else:
            assert got.any()


def test_a_step_along_a_member_is_the_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """theta + sigma E by perturbation and by update, in ranges of any length: within a rounding of fp32."""
    model, space = made(rank=3)
    values = space.parameters.values("", member(5, sigma=0.01))
    monkeypatch.setattr(ranges, "RANGE", 700)
    again = space.parameters.values("", member(5, sigma=0.01))
    assert all(torch.equal(values[name], again[name]) for name in values), "the same bits over any ranges"
    space.parameters.apply(Update(0, (UpdateTerm(member(5).seed, {"whole": 1.0}),), {"whole": 0.01}))
    for name, value in values.items():
        torch.testing.assert_close(model.get_parameter(name).flatten(), value, atol=1e-7, rtol=1e-6)


def test_replay_over_other_ranges_gives_the_same_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for length in (1 << 18, 5000, 64):
        monkeypatch.setattr(ranges, "RANGE", length)
        _, space = made("qwen3")
        digests.append([space.parameters.apply(update(step, (1.0, -0.3, 0.2))).digest for step in range(2)])
    assert digests[0] == digests[1] == digests[2]
    assert digests[0][0] != digests[0][1]


def test_the_noise_changes_every_step() -> None:
    model, space = made()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    steps = []
    for step in range(2):
        space.parameters.apply(update(step, (1.0,)))
        steps.append(torch.cat([(p - before[n]).flatten() for n, p in model.named_parameters()]))
        before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    assert abs(float(F.cosine_similarity(steps[0], steps[1], dim=0))) < 0.05


def test_sigma_can_be_relative_to_each_parameter() -> None:
    model, space = made(scale="relative")
    tensor = next(t for t in space.parameters.tensors if t.name.endswith("layers.1.mlp.up_proj.weight"))
    weight = model.get_parameter(tensor.name)
    value = space.parameters.values("", member(2, sigma=0.3))[tensor.name].view_as(weight)
    assert float((value - weight).norm() / weight.norm()) == pytest.approx(0.3, rel=0.2)
    change = space.terms([Setting("a", member(2, sigma=0.3))])["model.layers.1.mlp.up_proj"]
    x = torch.eye(weight.shape[1])
    slot = torch.zeros(len(x), dtype=torch.int64)
    torch.testing.assert_close(change(x, slot).T, value - weight, atol=1e-5, rtol=1e-3)
