"""The contract of the Backend seam, run over a table: the next backend is one more row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from esagent.backends.base import Backend
from esagent.backends.hf.backend import HFBackend
from esagent.backends.synthetic.backend import SyntheticBackend
from esagent.backends.synthetic.skills import make_skills
from esagent.config.schema import BackendConfig, ChainConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces.partitions import make_partition
from esagent.spaces.registry import make_space
from esagent.spaces.weights import Weights
from tests.engine.pool import maker
from tests.helpers.tiny import HYBRID, make_tiny
from tests.helpers.vector import MODULES, VectorBackend
from tests.ray.contract import POOLS


def hf(kind: str, **space: object) -> Backend:
    model, tokenizer = make_tiny(kind)
    made = make_space(SpaceConfig(layers="2-3", **space), model, MODULES)  # type: ignore[arg-type]
    return HFBackend(model, tokenizer, made, BackendConfig())


def weights(name: str, kind: str, partition: str = "whole", **space: object) -> Backend:
    model, tokenizer = make_tiny(kind)
    config = SpaceConfig(name, "all", [], positions=Positions.all, partition=partition, **space)  # type: ignore[arg-type]
    return HFBackend(model, tokenizer, make_space(config, model, MODULES), BackendConfig())


def synthetic() -> Backend:
    chain = ChainConfig(list(MODULES), {"finder": 0.5, "writer": 0.6}, size=8)
    return SyntheticBackend(make_skills(chain), MODULES, make_partition("module", 1, False))


BACKENDS: dict[str, Callable[[], Backend]] = {
    "vector": VectorBackend,
    "synthetic": synthetic,
    "hf-bias": lambda: hf("llama", name="bias", positions=Positions.answer),
    "hf-bias-everywhere": lambda: hf("qwen2", name="bias", positions=Positions.all),
    "hf-lora": lambda: hf("llama", name="lora", rank=3, positions=Positions.all),
    "hf-lora-both": lambda: hf("qwen2", name="lora", rank=2, sigma_a=0.5, sigma_b=2.0, positions=Positions.answer),
    "hf-full": lambda: weights("full", "llama"),
    "hf-full-untied": lambda: weights("full", "qwen2", partition="layer"),
    "hf-full-chosen": lambda: weights("full", "qwen3", partition="random", include=[r"layers\.[23]"], exclude=["norm"]),
    "hf-full-relative": lambda: weights("full", "qwen3", partition="kind", scale="relative"),
    "hf-lowrank": lambda: weights("lowrank", "llama", scale="relative", rank=1),
    "hf-lowrank-matrices": lambda: weights("lowrank", "qwen2", scale="relative", rank=3, vectors="none"),
    "hf-lowrank-layers": lambda: weights("lowrank", "qwen3", partition="layer", include=[r"layers\.[23]"], rank=2),
    "hf-core": lambda: hf("qwen3", name="core", sites=["o_proj", "down_proj"], rank=4, positions=Positions.all),
    "hf-hybrid-bias": lambda: hf(HYBRID, name="bias", positions=Positions.answer),
    "hf-hybrid-core": lambda: hf(HYBRID, name="core", sites=["o_proj", "in_proj_qkv"], rank=4, positions=Positions.all),
    "hf-hybrid-lora": lambda: hf(HYBRID, name="lora", sites=["out_proj", "q_proj"], rank=3, positions=Positions.all),
    "hf-hybrid-full": lambda: weights("full", HYBRID),
    "hf-hybrid-lowrank": lambda: weights(
        "lowrank", HYBRID, rank=2, exclude=["conv1d", "A_log", "dt_bias", "attn.norm"]
    ),
}


ON_VLLM = [
    pytest.param(maker(name), id=f"vllm-{name}", marks=pytest.mark.engine)
    for name in ("bias", "core", "full-untied", "lowrank")
]


@pytest.fixture(params=[*(pytest.param(make, id=name) for name, make in BACKENDS.items()), *ON_VLLM, *POOLS])
def make(request: pytest.FixtureRequest) -> Callable[[], Backend]:
    return request.param


def each(backend: Backend, value: float) -> dict[str, float]:
    """The same number for every block."""
    return {block.name: value for block in backend.blocks()}


def update(backend: Backend, step: int, size: float = 0.5) -> Update:
    terms = tuple(UpdateTerm(direction_seed(4, step, i), each(backend, 1.0 - i)) for i in range(3))
    return Update(step, terms, each(backend, size), normalise="block")


def requests(member: int) -> list[Request]:
    return [
        Request(module, f"{module}: a word {i}", member=member, max_new_tokens=4) for module in MODULES for i in (1, 2)
    ]


def test_blocks_have_names_of_their_own_and_a_fixed_order(make: Callable[[], Backend]) -> None:
    blocks = make().blocks()
    assert blocks == make().blocks()
    assert len({block.name for block in blocks}) == len(blocks) > 0
    assert all(block.size > 0 for block in blocks)
    if isinstance(backend := make(), HFBackend) and isinstance(backend.space.parameters, Weights):
        assert sum(block.size for block in blocks) == sum(t.size for t in backend.space.parameters.tensors)
    else:
        assert [block.name for block in blocks] == list(MODULES)


def test_every_request_gets_its_answer_in_order(make: Callable[[], Backend]) -> None:
    backend = make()
    asked = requests(UNPERTURBED)
    together = [c.text for c in backend.generate(asked, ())]
    assert together == [make().generate([one], ())[0].text for one in asked]
    assert [c.text for c in make().generate(asked[::-1], ())] == together[::-1]
    assert backend.generate([], ()) == []


def test_a_member_without_sigma_is_the_centre(make: Callable[[], Backend]) -> None:
    nobody = Perturbation(7, 1, {})
    centre, member = make().generate(requests(UNPERTURBED), ()), make().generate(requests(0), (nobody,))
    assert [c.text for c in centre] == [c.text for c in member]


def test_generating_leaves_the_weights_alone(make: Callable[[], Backend]) -> None:
    backend = make()
    before = backend.digest()
    backend.generate(requests(0), (Perturbation(7, -1, each(backend, 1.0)),))
    assert backend.digest() == before


def test_updates_replay_to_the_same_digest(make: Callable[[], Backend]) -> None:
    one, two = make(), make()
    digests = [one.apply(update(one, step)).digest for step in range(3)]
    assert [two.apply(update(two, step)).digest for step in range(3)] == digests
    assert len(set(digests)) == 3
    assert one.digest() == digests[-1]


def test_an_update_reports_what_it_did(make: Callable[[], Backend]) -> None:
    backend = make()
    applied = backend.apply(update(backend, 0, size=0.25))
    # A random block holds its expected size up to chance, and its length is that over the expected size.
    tolerance = 0.05 if "part-0" in applied.moved else 1e-6
    assert applied.moved == pytest.approx(each(backend, 0.25), rel=tolerance)
    assert applied.cosine == pytest.approx(1.0, abs=1e-6)
    assert applied.unmoved == 0.0


def test_an_empty_update_moves_nothing(make: Callable[[], Backend]) -> None:
    backend = make()
    applied = backend.apply(Update(0, (), each(backend, 0.5), normalise="block"))
    assert applied.moved == each(backend, 0.0)
    assert math.isnan(applied.cosine)


def test_a_snapshot_carries_the_whole_state(make: Callable[[], Backend], tmp_path: Path) -> None:
    one, two = make(), make()
    one.apply(update(one, 0))
    one.save(tmp_path / "s.safetensors")
    two.load(tmp_path / "s.safetensors")
    assert two.digest() == one.digest()
    assert two.apply(update(two, 1)).digest == one.apply(update(one, 1)).digest


def test_a_forgotten_optimiser_keeps_the_parameters(make: Callable[[], Backend], tmp_path: Path) -> None:
    """After it, momentum starts from nothing: the next step is the one of a backend that never had any."""
    one, two = make(), make()
    gathers = replace(update(one, 0), rule="momentum", scalars={"momentum": 0.5})
    one.apply(gathers)
    two.apply(replace(gathers, rule="plain", scalars={}))
    before = [c.text for c in one.generate(requests(UNPERTURBED), ())]
    assert one.digest() != two.digest()
    one.forget_optimiser()
    two.forget_optimiser()
    assert one.digest() == two.digest()
    assert [c.text for c in one.generate(requests(UNPERTURBED), ())] == before


def test_an_update_in_a_members_direction_gives_that_members_answers(make: Callable[[], Backend]) -> None:
    """Perturbation and update are built from the same noise: theta + sigma eps, reached either way, answers alike."""
    moved = make()
    member = Perturbation(11, 1, each(moved, 0.5), partition=6)
    moved.apply(Update(0, (UpdateTerm(11, each(moved, 1.0)),), each(moved, 0.5), partition=6))
    texts = [c.text for c in moved.generate(requests(UNPERTURBED), ())]
    assert texts == [c.text for c in make().generate(requests(0), (member,))]


def test_costs_add_up(make: Callable[[], Backend]) -> None:
    backend = make()
    answers = backend.generate(requests(UNPERTURBED), ())
    cost = backend.cost()
    assert cost.requests == len(answers)
    assert cost.prompt_tokens == sum(c.prompt_tokens for c in answers)
    assert cost.completion_tokens == sum(c.completion_tokens for c in answers)
    backend.generate(requests(UNPERTURBED), ())
    assert backend.cost().requests == 2 * cost.requests


def texts(asked: list[Request]) -> list[str]:
    return [request.prompt.split()[-1] if i % 2 else "else" for i, request in enumerate(asked)]


def test_every_text_gets_its_log_likelihood_in_order(make: Callable[[], Backend]) -> None:
    asked = requests(UNPERTURBED)
    together = make().score(asked, texts(asked), ())
    assert all(score < 0 for score in together)
    assert len(set(together)) == len(asked)
    alone = [make().score([one], [text], ())[0] for one, text in zip(asked, texts(asked), strict=True)]
    assert together == pytest.approx(alone, abs=1e-5)
    assert make().score(asked[::-1], texts(asked)[::-1], ())[::-1] == pytest.approx(together, abs=1e-5)
    assert make().score([], [], ()) == []


def test_scores_are_those_of_the_parameters_asked_for(make: Callable[[], Backend]) -> None:
    """Centre and a member without sigma agree; a member scores as the centre that is moved to where it lies."""
    backend, asked = make(), requests(0)
    member = Perturbation(11, 1, each(backend, 0.2), partition=6)
    centre = make().score(requests(UNPERTURBED), texts(asked), ())
    assert make().score(asked, texts(asked), (Perturbation(7, 1, {}),)) == pytest.approx(centre, abs=1e-5)
    before = backend.digest()
    scores = backend.score(asked, texts(asked), (member,))
    assert backend.digest() == before
    assert scores != pytest.approx(centre, abs=1e-3)
    backend.apply(Update(0, (UpdateTerm(11, each(backend, 1.0)),), each(backend, 0.2), partition=6))
    assert backend.score(requests(UNPERTURBED), texts(asked), ()) == pytest.approx(scores, rel=1e-4, abs=1e-4)


def test_scoring_is_paid_for(make: Callable[[], Backend]) -> None:
    backend = make()
    asked = requests(UNPERTURBED)
    backend.score(asked, texts(asked), ())
    cost = backend.cost()
    assert cost.requests == len(asked)
    assert cost.prompt_tokens > 0
    assert cost.completion_tokens >= len(asked)
    assert (cost.flops > 0) != isinstance(backend, SyntheticBackend)  # which has no model
    assert cost.seconds > 0
