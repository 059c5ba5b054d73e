"""The contract of the Backend seam, run over a table: the next backend is one more row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from esagent.backends.base import Backend
from esagent.backends.hf.backend import HFBackend
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces.registry import make_space
from tests.helpers.tiny import HYBRID, make_tiny
from tests.helpers.vector import MODULES, VectorBackend


def hf(kind: str, **space: object) -> Backend:
    model, tokenizer = make_tiny(kind)
    made = make_space(SpaceConfig(layers="2-3", **space), model, MODULES)  # type: ignore[arg-type]
    return HFBackend(model, tokenizer, made, BackendConfig())


BACKENDS: dict[str, Callable[[], Backend]] = {
    "vector": VectorBackend,
    "hf-bias": lambda: hf("llama", name="bias", positions=Positions.answer),
    "hf-bias-everywhere": lambda: hf("qwen2", name="bias", positions=Positions.all),
    "hf-core": lambda: hf("qwen3", name="core", sites=["o_proj", "down_proj"], rank=4, positions=Positions.all),
    "hf-hybrid-bias": lambda: hf(HYBRID, name="bias", positions=Positions.answer),
    "hf-hybrid-core": lambda: hf(HYBRID, name="core", sites=["o_proj", "in_proj_qkv"], rank=4, positions=Positions.all),
}


@pytest.fixture(params=BACKENDS.values(), ids=BACKENDS)
def make(request: pytest.FixtureRequest) -> Callable[[], Backend]:
    return request.param


def update(step: int, size: float = 0.5) -> Update:
    terms = tuple(UpdateTerm(direction_seed(4, step, i), dict.fromkeys(MODULES, 1.0 - i)) for i in range(3))
    return Update(step, terms, dict.fromkeys(MODULES, size), normalise="block")


def requests(member: int) -> list[Request]:
    return [
        Request(module, f"{module}: a word {i}", member=member, max_new_tokens=4) for module in MODULES for i in (1, 2)
    ]


def test_blocks_are_the_modules_in_a_fixed_order(make: Callable[[], Backend]) -> None:
    blocks = make().blocks()
    assert [block.name for block in blocks] == list(MODULES)
    assert all(block.size > 0 for block in blocks)
    assert blocks == make().blocks()


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
    backend.generate(requests(0), (Perturbation(7, -1, dict.fromkeys(MODULES, 1.0)),))
    assert backend.digest() == before


def test_updates_replay_to_the_same_digest(make: Callable[[], Backend]) -> None:
    one, two = make(), make()
    digests = [one.apply(update(step)).digest for step in range(3)]
    assert [two.apply(update(step)).digest for step in range(3)] == digests
    assert len(set(digests)) == 3
    assert one.digest() == digests[-1]


def test_an_update_reports_what_it_did(make: Callable[[], Backend]) -> None:
    applied = make().apply(update(0, size=0.25))
    assert applied.moved == pytest.approx(dict.fromkeys(MODULES, 0.25))
    assert applied.cosine == pytest.approx(1.0, abs=1e-6)
    assert applied.unmoved == 0.0


def test_an_empty_update_moves_nothing(make: Callable[[], Backend]) -> None:
    applied = make().apply(Update(0, (), dict.fromkeys(MODULES, 0.5), normalise="block"))
    assert applied.moved == dict.fromkeys(MODULES, 0.0)
    assert math.isnan(applied.cosine)


def test_a_snapshot_carries_the_whole_state(make: Callable[[], Backend], tmp_path: Path) -> None:
    one, two = make(), make()
    one.apply(update(0))
    one.save(tmp_path / "s.safetensors")
    two.load(tmp_path / "s.safetensors")
    assert two.digest() == one.digest()
    assert two.apply(update(1)).digest == one.apply(update(1)).digest


def test_a_forgotten_optimiser_keeps_the_parameters(make: Callable[[], Backend], tmp_path: Path) -> None:
    """After it, momentum starts from nothing: the next step is the one of a backend that never had any."""
    gathers = Update(0, update(0).terms, dict.fromkeys(MODULES, 0.5), "momentum", "block", {"momentum": 0.5})
    one, two = make(), make()
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
    moved, member = make(), Perturbation(11, 1, dict.fromkeys(MODULES, 0.5))
    moved.apply(Update(0, (UpdateTerm(11, dict.fromkeys(MODULES, 1.0)),), dict.fromkeys(MODULES, 0.5)))
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
