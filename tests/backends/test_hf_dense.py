"""Dense members: each is a stock model with noise added to its parameters, whatever ran before it."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from esagent.backends.hf.backend import HFBackend
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed, gaussian
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.rollout import rollout
from esagent.spaces.registry import make_space
from tests.backends.letters import LetterAgent, LetterFamily
from tests.backends.reference import alone
from tests.helpers.tiny import KINDS, make_tiny

MODULES = LetterAgent.modules
PREFIX = "Task: add 2 and 3\nPlan: calculate\n\nTask: what day is it\nPlan: look up\n"
SIGMA = 0.02


def backend(kind: str, dtype: torch.dtype = torch.float32, partition: str = "whole", **options: Any) -> HFBackend:
    model, tokenizer = make_tiny(kind, dtype=dtype)
    space = {name: options.pop(name) for name in ("include", "exclude", "precision") if name in options}
    config = SpaceConfig("full", "all", [], positions=Positions.all, partition=partition, **space)
    return HFBackend(model, tokenizer, make_space(config, model, MODULES), BackendConfig(**options))


def pair(direction: int, sigma: float = SIGMA) -> list[Perturbation]:
    return [Perturbation(direction_seed(3, 0, direction), sign, {"whole": sigma}) for sign in (1, -1)]


def requests(members: range | list[int]) -> list[Request]:
    prompts = ["\nTask: multiply 12 by 7\nPlan:", "\nTask: x"]
    return [
        Request(module, prompt, PREFIX, member, max_new_tokens=8, stop=())
        for member, module, prompt in itertools.product(members, MODULES, prompts)
    ]


def stock(kind: str, *moves: tuple[int, float], include: str = "") -> nn.Module:
    """A stock model with sum_i factor_i eps(seed_i) added to every parameter with `include` in its name."""
    model, _ = make_tiny(kind)
    plain = copy.deepcopy(model)
    plain.config._attn_implementation = "eager"
    for name, parameter in plain.named_parameters():
        for seed, factor in moves:
            if include in name:
                parameter.data += factor * gaussian(seed, name, 0, parameter.numel()).view(parameter.shape)
    return plain


def check_answers(engine: HFBackend, plain: nn.Module, asked: list[Request], texts: list[str]) -> None:
    """Equal to those of the stock model, unless some token was a tie within 1e-4 in its logits."""
    for request, text in zip(asked, texts, strict=True):
        expected, _, logits = alone(plain, engine._tokenizer, request)
        gaps = [float(top[0] - top[1]) for top in (x.topk(2).values for x in logits)]
        assert text == expected or min(gaps) < 1e-4, (request, text, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_stock_models_with_noise_added_to_every_parameter(kind: str) -> None:
    engine = backend(kind)
    members = [*pair(0), *pair(1)]
    asked = requests(range(UNPERTURBED, len(members)))
    answers = [c.text for c in engine.generate(asked, members)]
    each = len(asked) // (1 + len(members))
    for at, member in enumerate([None, *members]):
        moves = [(member.seed, member.sign * SIGMA)] if member else []
        mine = slice(at * each, (at + 1) * each)
        check_answers(engine, stock(kind, *moves), asked[mine], answers[mine])
    assert len(set(answers)) > each, "the perturbations must change some outputs, or the test proves nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_first_logits_agree_within_1e_4(kind: str) -> None:
    engine = backend(kind)
    seen: list[torch.Tensor] = []
    original = engine._network.logits

    def watch(hidden: torch.Tensor) -> torch.Tensor:
        seen.append(original(hidden))
        return seen[-1]

    engine._network.logits = watch  # type: ignore[method-assign]
    (member, _), request = pair(0), requests([0])[0]
    engine.generate([request], [member])
    _, _, logits = alone(stock(kind, (member.seed, SIGMA)), engine._tokenizer, request)
    torch.testing.assert_close(seen[0][0], logits[0], atol=1e-4, rtol=0)


EVERYTHING = ("llama", "")
CACHES: list[tuple[tuple[str, str], dict[str, bool]]] = [
    (EVERYTHING, {}),
    (("qwen2", "layers.2."), {}),
    (("qwen2", "embed_tokens"), {}),
    (("qwen3", "lm_head"), {}),
    (("qwen2", "layers.0.self_attn.v_proj"), {}),
    (EVERYTHING, {"draft": False}),
    (EVERYTHING, {"share_prefix": False}),
    (EVERYTHING, {"deterministic": True}),
    (("qwen2", "layers.2."), {"share_trunk": False}),
]


@pytest.mark.parametrize(("searched", "options"), CACHES)
def test_no_cache_serves_states_of_other_weights(searched: tuple[str, str], options: dict[str, bool]) -> None:
    """Centre, members, an update, and the same again: prefixes, drafts and the trunk must follow the weights."""
    kind, include = searched
    engine = backend(kind, include=[include], **options)
    sigma, other = 0.5 if "v_proj" in include else 0.1, direction_seed(8, 0, 0)
    members = pair(0, sigma)
    seen: list[list[str]] = []
    for step in range(2):
        models: dict[int, nn.Module] = {}
        for who in (UNPERTURBED, 0, 1, UNPERTURBED, 0):
            asked = requests([who])[:2]
            texts = [c.text for c in engine.generate(asked, members)]
            if who not in models:
                moves = [(members[who].seed, members[who].sign * sigma)] if who != UNPERTURBED else []
                models[who] = stock(kind, (other, 0.15 * step), *moves, include=include)
                check_answers(engine, models[who], asked, texts)
            else:
                assert texts == seen[-3]
            seen.append(texts)
        engine.apply(Update(step, (UpdateTerm(other, {"whole": 1.0}),), {"whole": 0.15}))
    assert len({tuple(texts) for texts in seen}) >= 4, "weights must show in the answers, or the test proves nothing"


def test_a_prefix_is_computed_once_for_a_member_and_anew_after_an_update() -> None:
    engine = backend("llama", include=["layers.3"], draft=False)
    tokens = len(engine._encode(PREFIX))
    members = pair(0)

    def prompts(member: int) -> int:
        before = engine.meter.prompt_tokens
        engine.generate(requests([member])[:1], members)
        return engine.meter.prompt_tokens - before

    first, again = prompts(0), prompts(0)
    assert first - again == tokens
    assert prompts(1) == first
    assert prompts(UNPERTURBED) == first
    assert prompts(UNPERTURBED) == again
    engine.apply(Update(0, (UpdateTerm(7, {"whole": 1.0}),), {"whole": 0.1}))
    assert prompts(UNPERTURBED) == first


def test_a_prefix_of_a_member_outlives_calls_that_do_not_need_it() -> None:
    """Modules ask in turns; while a member stands in the model, what was computed for it is kept."""
    engine = backend("llama", draft=False)
    members = pair(0)
    one, two = (Request("planner", "\nTask: x", prefix, 0, max_new_tokens=2) for prefix in (PREFIX, PREFIX[5:]))
    for request in (one, two):
        engine.generate([request], members)
    before = engine.meter.prompt_tokens
    engine.generate([one], members)
    assert engine.meter.prompt_tokens - before == len(engine._encode("\nTask: x")) - 1
    assert sum(len(entries) for _, entries in engine._prefixes._upper.values()) == 2
    engine.generate([Request("planner", "\nTask: x", PREFIX, 1, max_new_tokens=2)], members)
    assert sum(len(entries) for _, entries in engine._prefixes._upper.values()) == 1


@pytest.mark.parametrize("precision", ["master", "stochastic"])
def test_packed_copies_are_those_of_the_weights_in_the_model(precision: str) -> None:
    engine = backend("qwen3", torch.bfloat16, precision=precision)
    linears = [m for m in engine._network.model.modules() if isinstance(m, nn.Linear) and m.bias is None]
    x = torch.linspace(-1, 1, 5 * 64).view(5, 64).bfloat16()

    def check() -> torch.Tensor:
        for linear in linears:
            wide = x.repeat(1, -(-linear.in_features // 64))[:, : linear.in_features]
            torch.testing.assert_close(linear(wide), F.linear(wide, linear.weight), atol=0.03, rtol=0.03)
        return linears[-1](x).clone()

    members = pair(0, 0.3)
    with torch.inference_mode():
        found = [check()]
        for who in (0, 1, UNPERTURBED):
            engine.generate(requests([who]), members)
            found.append(check())
        engine.apply(Update(0, (UpdateTerm(7, {"whole": 1.0}),), {"whole": 0.3}))
        found.append(check())
    assert torch.equal(found[0], found[3])
    assert not any(torch.equal(found[0], found[i]) for i in (1, 2, 4))


def test_every_member_is_written_into_the_model_once_a_step() -> None:
    engine = backend("llama")
    written: list[int] = []
    weight = engine._network.model.model.norm.weight
    engine.space.parameters.watchers.append(  # type: ignore[attr-defined]
        lambda flat: written.append(1) if flat.data_ptr() == weight.data_ptr() else None
    )
    family, members = LetterFamily(), [*pair(0), *pair(1)]
    tasks = family.tasks("train", 0, 3)
    one_by_one = rollout(LetterAgent(), family, engine, members, tasks)
    assert len(written) == len(members)
    engine.together = None
    assert rollout(LetterAgent(), family, engine, members, tasks) == one_by_one
    assert len(written) == 3 * len(members)  # once a round


def test_who_has_the_centres_weights_shares_its_answers() -> None:
    """A member that perturbs nothing, and modules, which all have the same weights."""
    engine = backend("llama", partition="layer")
    nobody = Perturbation(5, 1, {"layer-01": 0.0})
    answers = engine.generate(requests([UNPERTURBED, 0]), [nobody])
    assert [answer.shared for answer in answers] == [False, False] + 6 * [True]
