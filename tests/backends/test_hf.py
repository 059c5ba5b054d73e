"""Backend hf: one batch for the population equals every member run alone."""

from __future__ import annotations

import itertools

import pytest
import torch

from esagent.backends.hf.backend import HFBackend
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.spaces.registry import make_space
from tests.backends.reference import complete
from tests.helpers.tiny import KINDS, make_tiny

MODULES = ("planner", "caller")
SPACES = {
    "bias": SpaceConfig(name="bias", layers="2-3", sites=["down_proj"], positions=Positions.all),
    "bias-answer": SpaceConfig(name="bias", layers="2-3", sites=["down_proj"], positions=Positions.answer),
    "core": SpaceConfig(name="core", layers="2,3", sites=["o_proj", "down_proj"], rank=4, positions=Positions.all),
    "core-random": SpaceConfig(
        name="core", layers="1-3", sites=["q_proj"], rank=3, init="orthonormal", positions=Positions.answer
    ),
    "lora": SpaceConfig(name="lora", layers="2,3", sites=["o_proj", "down_proj"], rank=3, positions=Positions.all),
    "lora-both": SpaceConfig(name="lora", layers="1-3", sites=["q_proj"], rank=2, sigma_a=1.0),
}
PREFIXES = {
    "planner": "Task: add 2 and 3\nPlan: calculate\n\nTask: what day is it\nPlan: look up\n",
    "caller": "Task: add 2 and 3\nCall: calculator(2 + 3)\n",
}


def backend(kind: str, space: str, **options: object) -> HFBackend:
    model, tokenizer = make_tiny(kind)
    model = model.float()
    return HFBackend(model, tokenizer, make_space(SPACES[space], model, MODULES), BackendConfig(**options))


def population(sigma: float = 1.0) -> list[Perturbation]:
    members = []
    for direction, blocks in enumerate([("planner",), ("caller",), MODULES]):
        for sign in (1, -1):
            members.append(Perturbation(direction_seed(3, 0, direction), sign, dict.fromkeys(blocks, sigma)))
    return members


def requests(members: int) -> list[Request]:
    prompts = ["\nTask: multiply 12 by 7\nPlan:", "\nTask: how many days in May\nPlan:", "\nTask: x"]
    return [
        Request(module, prompt, PREFIXES[module], member, max_new_tokens=6, stop=("\n", "e"))
        for module, prompt, member in itertools.product(MODULES, prompts, range(UNPERTURBED, members))
    ]


def explained(engine: HFBackend, request: Request, members: list[Perturbation], text: str) -> bool:
    """Equal to the reference, or the first token that differs was a tie within 1e-4 in its logits."""
    model = engine._network.model
    expected, _, logits = complete(model, engine._tokenizer, engine.space, request, members)
    if text == expected:
        return True
    gaps = [float(top[0] - top[1]) for top in (x.topk(2).values for x in logits)]
    return min(gaps) < 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_population_in_one_batch_equals_members_alone(kind: str, space: str) -> None:
    engine = backend(kind, space)
    members = population()
    asked = requests(len(members))
    answers = engine.generate(asked, members)
    texts = set()
    for request, answer in zip(asked, answers, strict=True):
        assert explained(engine, request, members, answer.text), (request, answer)
        texts.add((request.module, request.prompt, answer.text))
    assert len(texts) > 8, "the perturbations must change some outputs, or the test proves nothing"


@pytest.mark.parametrize("options", [
    {"draft": False}, {"share_prefix": False}, {"share_requests": False}, {"share_trunk": False}, {"max_batch_rows": 3},
])  # fmt: skip
@pytest.mark.parametrize("space", ["bias", "bias-answer"])
def test_every_sharing_switch_gives_the_same_answers(options: dict[str, object], space: str) -> None:
    members = population()
    asked = requests(len(members))
    plain = [c.text for c in backend("llama", space).generate(asked, members)]
    assert [c.text for c in backend("llama", space, **options).generate(asked, members)] == plain


@pytest.mark.parametrize("space", ["bias", "bias-answer"])
def test_drafts_and_the_prefix_cache_follow_the_centre(space: str) -> None:
    engine = backend("llama", space)
    members = population()
    asked = requests(len(members))
    engine.generate(asked, members)
    terms = tuple(UpdateTerm(m.seed, dict.fromkeys(m.sigma, 1.0)) for m in members[::2])
    engine.apply(Update(0, terms, dict.fromkeys(MODULES, 2.0), normalise="block"))
    for request, answer in zip(asked, engine.generate(asked, members), strict=True):
        assert explained(engine, request, members, answer.text)


def test_first_logits_agree_within_1e_4() -> None:
    engine = backend("qwen3", "core")
    members = population()
    request = requests(2)[1]
    seen: list[torch.Tensor] = []
    original = engine._network.logits

    def watch(hidden: torch.Tensor) -> torch.Tensor:
        seen.append(original(hidden))
        return seen[-1]

    engine._network.logits = watch  # type: ignore[method-assign]
    engine.generate([request], members)
    _, _, logits = complete(engine._network.model, engine._tokenizer, engine.space, request, members)
    torch.testing.assert_close(seen[0][0].float(), logits[0], atol=1e-4, rtol=0)
