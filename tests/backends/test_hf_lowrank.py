"""Noise of low rank in one batch equals every member's weights run alone, wherever a parameter acts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from esagent.backends.hf.backend import HFBackend
from esagent.backends.hf.prompts import PromptStates
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces.registry import make_space
from tests.backends.bits import Bits
from tests.backends.reference import complete
from tests.backends.test_hf import PREFIXES, explained
from tests.helpers.tiny import KINDS, make_tiny

LOWRANK = SpaceConfig("lowrank", "all", [], positions=Positions.all, partition="whole", rank=1)
SPACES = {
    "everything": LOWRANK,
    "matrices": replace(LOWRANK, vectors="none", rank=3),
    "upper-layers": replace(LOWRANK, include=[r"layers\.[23]\.", r"model\.norm"], rank=2),
    "embedding": replace(LOWRANK, include=["embed_tokens"]),
    "head": replace(LOWRANK, include=["lm_head"], rank=2),
    "kinds": replace(LOWRANK, partition="kind", scale="relative"),
}


def backend(kind: str, space: str, dtype: torch.dtype = torch.float32, **options: Any) -> HFBackend:
    model, tokenizer = make_tiny(kind, dtype=dtype)
    return HFBackend(model, tokenizer, make_space(SPACES[space], model, list(PREFIXES)), BackendConfig(**options))


def population(engine: HFBackend) -> list[Perturbation]:
    """Mirrored pairs of two directions, the second of which leaves a block alone where there are several."""
    names = [block.name for block in engine.blocks()]
    sigma = 0.2 if len(names) > 1 else 0.03  # relative to the weights, which are about 0.12, or absolute
    return [
        Perturbation(direction_seed(3, 0, i), sign, dict.fromkeys(names[i:] or names, sigma))
        for i in range(2)
        for sign in (1, -1)
    ]


def requests(members: int, tokens: int = 6) -> list[Request]:
    prompts = ["\nTask: multiply 12 by 7\nPlan:", "\nTask: x"]
    return [
        Request(module, prompt, PREFIXES[module], member, max_new_tokens=tokens, stop=("\n", "e"))
        for module, prompt, member in itertools.product(PREFIXES, prompts, range(UNPERTURBED, members))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_population_in_one_batch_equals_members_alone(kind: str, space: str) -> None:
    engine = backend(kind, space)
    members = population(engine)
    asked = requests(len(members))
    answers = engine.generate(asked, members)
    for request, answer in zip(asked, answers, strict=True):
        assert explained(engine, request, members, answer.text), (request, answer)
    found = {(request.module, request.prompt, answer.text) for request, answer in zip(asked, answers, strict=True)}
    assert len(found) > 5, "the perturbations must change some outputs, or the test proves nothing"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["everything", "kinds"])
def test_logits_agree_within_1e_4(kind: str, space: str) -> None:
    engine = backend(kind, space)
    members = population(engine)
    asked = requests(len(members), tokens=1)
    seen: list[torch.Tensor] = []
    original = engine._network.logits
    engine._network.logits = lambda hidden: seen.append(original(hidden)) or seen[-1]  # type: ignore[method-assign]
    engine.generate(asked, members)
    rows = torch.cat(seen).float()
    engine._network.logits = original  # type: ignore[method-assign]
    wanted = [complete(engine._network.model, engine._tokenizer, engine.space, r, members)[2][0] for r in asked]
    for logits in wanted:
        assert float((rows - logits).abs().amax(1).min()) < 1e-4
    apart = torch.cdist(torch.stack(wanted), torch.stack(wanted), p=float("inf"))
    assert float(apart.fill_diagonal_(1).min()) > 1e-2, "no two requests may be alike, or the test proves nothing"


@pytest.mark.parametrize("options", [
    {"draft": False}, {"share_prefix": False}, {"share_requests": False}, {"share_trunk": False}, {"max_batch_rows": 3},
])  # fmt: skip
@pytest.mark.parametrize("space", ["everything", "upper-layers"])
def test_every_sharing_switch_gives_the_same_answers(options: dict[str, object], space: str) -> None:
    plain = backend("llama", space)
    members = population(plain)
    asked = requests(len(members))
    texts = [c.text for c in plain.generate(asked, members)]
    assert [c.text for c in backend("llama", space, **options).generate(asked, members)] == texts


def moved(engine: HFBackend, size: float = 0.02) -> None:
    names = [block.name for block in engine.blocks()]
    terms = tuple(UpdateTerm(direction_seed(3, 9, i), dict.fromkeys(names, 1.0)) for i in range(3))
    engine.apply(Update(0, terms, dict.fromkeys(names, size), normalise="block"))


@pytest.mark.parametrize("space", ["everything", "upper-layers"])
def test_answers_follow_the_weights(space: str) -> None:
    """After an update nothing of the old weights is left: no prefix, no guess, no table of noise."""
    engine = backend("qwen3", space)
    members = population(engine)
    asked = requests(len(members))
    before = [c.text for c in engine.generate(asked, members)]
    moved(engine)
    answers = engine.generate(asked, members)
    for request, answer in zip(asked, answers, strict=True):
        assert explained(engine, request, members, answer.text)
    assert [c.text for c in answers] != before


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_packed_copies_follow_the_weights(kind: str) -> None:
    engine = backend(kind, "everything", torch.bfloat16)
    network = engine._network.model
    linears = [m for m in network.modules() if isinstance(m, torch.nn.Linear)]
    old = [m.weight.clone() for m in linears]
    moved(engine)
    generator = torch.Generator().manual_seed(0)
    for linear, before in zip(linears, old, strict=True):
        x = torch.randn(40, linear.in_features, generator=generator).bfloat16()
        wanted = F.linear(x, linear.weight, linear.bias)
        torch.testing.assert_close(linear(x), wanted, atol=0.02, rtol=0.02)
        assert float((F.linear(x, before, linear.bias) - wanted).abs().max()) > 0.05


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_deterministic_answers_depend_on_no_company(kind: str, dtype: torch.dtype) -> None:
    engine = backend(kind, "everything", dtype, deterministic=True)
    members = population(engine)
    asked = requests(len(members), tokens=4)
    everything = Bits(engine)
    texts = [c.text for c in engine.generate(asked, members)]
    lonely = backend(kind, "everything", dtype, deterministic=True, draft=False, share_prefix=False)
    lonely._engine._states = PromptStates(0)
    alone = Bits(lonely)
    for request, text in zip(asked[::3], texts[::3], strict=True):
        assert lonely.generate([request], members)[0].text == text
    assert alone.seen <= everything.seen
