"""Backend hf with recurrent layers: one batch equals members alone; padding and copied prefixes make no difference."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from esagent.backends.hf.backend import HFBackend
from esagent.backends.hf.hybrid import HybridEngine
from esagent.backends.hf.slots import Slots
from esagent.config.names import WEIGHT_SPACES
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import ConfigError
from esagent.spaces.registry import make_space
from tests.backends.reference import complete
from tests.backends.test_hf_score import asked as scored
from tests.backends.test_hf_score import expected_answer, stock
from tests.helpers.tiny import HYBRID, make_tiny

MODULES = ("planner", "caller")
SPACES = {
    "bias": SpaceConfig(name="bias", layers="0-3", sites=["in_proj_qkv", "down_proj"], positions=Positions.all),
    "bias-answer": SpaceConfig(name="bias", layers="1-3", sites=["out_proj", "o_proj"], positions=Positions.answer),
    "core": SpaceConfig(name="core", layers="2-3", sites=["out_proj", "v_proj"], rank=4, positions=Positions.all),
    "core-answer": SpaceConfig(name="core", layers="all", sites=["in_proj_z", "q_proj"], rank=3, init="orthonormal"),
}
WHOLE = {"layers": "all", "sites": [], "positions": Positions.all, "partition": "whole", "scale": "relative"}
SPACES["full"] = SpaceConfig("full", **WHOLE)
SPACES["lowrank"] = SpaceConfig(
    "lowrank", **WHOLE, rank=2, exclude=["conv1d", "A_log", "dt_bias", r"linear_attn\.norm"]
)
ADAPTERS = [name for name in SPACES if name not in WEIGHT_SPACES]
SIGMA = {"bias": 0.4, "bias-answer": 1.0, "core": 1.0, "core-answer": 1.0}
PREFIXES = {
    "planner": "Task: add 2 and 3\nPlan: calculate\n\nTask: what day is it\nPlan: look up\n",
    "caller": "Task: add 2 and 3\nCall: calculator(2 + 3)\n",
}
PROMPTS = ("\nTask: multiply 12 by 7\nPlan:", "\nTask: how many days in May\nPlan:", "\nTask: x", "\n")


def backend(space: str, reuse: bool | None = None, **options: Any) -> HFBackend:
    """reuse: whether prefixes are read once and copied; None: as it pays."""
    model, tokenizer = make_tiny(HYBRID)
    model.model.embed_tokens.weight[0] = model.model.embed_tokens.weight[7]  # what padding is fed; else it would be 0
    made = HFBackend(model, tokenizer, make_space(SPACES[space], model, MODULES), BackendConfig(**options))
    if reuse is not None:
        made._engine._pass_tokens = 0 if reuse else 1 << 30
    return made


def population(sigma: float) -> list[Perturbation]:
    return [
        Perturbation(direction_seed(3, 0, i), 1 - 2 * (i % 2), dict.fromkeys(blocks, sigma))
        for i, blocks in enumerate([("planner",), ("caller",), MODULES, MODULES])
    ]


def requests(members: int) -> list[Request]:
    asked = [
        Request(module, prompt, PREFIXES[module], member, max_new_tokens=5, stop=("\n", "e"))
        for module, prompt, member in itertools.product(MODULES, PROMPTS, range(UNPERTURBED, members))
    ]
    return [*asked, Request("planner", "T", member=0, max_new_tokens=3, stop=())]


def passes(engine: HFBackend, asked: list[Request], members: list[Perturbation]) -> list[Tensor]:
    """Logits [len(asked), vocabulary] of every pass over a batch of `asked`, none of which may end early."""
    seen: list[Tensor] = []
    original = engine._network.logits
    slots = Slots(engine.space, members)
    jobs = [engine._job(request, slots) for request in asked]
    engine._hooks.use(engine.space.terms(slots.settings))
    engine._engine.prepare(jobs)
    engine._network.logits = lambda *given: seen.append(original(*given)) or seen[-1]
    with torch.inference_mode():
        engine._engine.complete(jobs)
    engine._network.logits = original
    return seen


@pytest.mark.parametrize("space", ADAPTERS)
def test_population_in_one_batch_equals_members_alone(space: str) -> None:
    """By stock transformers, materialised, one after the other, without padding: the same tokens but for near ties."""
    engine = backend(space)
    members = population(SIGMA[space])
    asked = requests(len(members))[:-1]
    answers = engine.generate(asked, members)
    ties = 0
    for request, answer in list(zip(asked, answers, strict=True))[::2]:
        expected, _, logits = complete(engine._network.model, engine._tokenizer, engine.space, request, members)
        gaps = [float(top[0] - top[1]) for top in (x.topk(2).values for x in logits)]
        assert answer.text == expected or min(gaps) < 1e-4, (request, answer)
        ties += answer.text != expected
    texts = {(request.module, request.prompt, answer.text) for request, answer in zip(asked, answers, strict=True)}
    assert ties <= 1
    assert len(texts) > 12, "the perturbations must change some outputs, or the test proves nothing"


@pytest.mark.parametrize("space", ADAPTERS)
@pytest.mark.parametrize("reuse", [False, True])
def test_logits_of_a_padded_batch_are_those_of_stock_transformers(space: str, reuse: bool) -> None:
    engine = backend(space, reuse)
    members = population(SIGMA[space])
    asked = [replace(r, max_new_tokens=3, stop=()) for r in requests(len(members))[1:-1:4]]
    seen = passes(engine, asked, members)
    for row, request in enumerate(asked):
        expected = complete(engine._network.model, engine._tokenizer, engine.space, request, members)[2]
        for logits, wanted in zip(seen, expected, strict=True):
            torch.testing.assert_close(logits[row], wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("space", ["bias", "core-answer"])
@pytest.mark.parametrize("reuse", [False, True])
def test_company_and_padding_make_no_difference(space: str, reuse: bool) -> None:
    """Beside texts of a single token up to long ones, and alone, where nothing is padded."""
    members = population(SIGMA[space])
    asked = [replace(r, max_new_tokens=3, stop=()) for r in requests(len(members))[::5]]
    asked.append(Request("caller", "x" * 40, PREFIXES["caller"], 1, max_new_tokens=3, stop=()))
    together = passes(backend(space, reuse), asked, members)
    for row, request in enumerate(asked):
        for batch, alone in zip(together, passes(backend(space), [request], members), strict=True):
            torch.testing.assert_close(batch[row], alone[0], atol=1e-4, rtol=0)


def test_without_the_mask_padding_would_make_a_difference() -> None:
    """Else the test above could not fail."""
    asked = [Request("planner", prompt, max_new_tokens=1, stop=()) for prompt in ("T", PROMPTS[0])]
    made = backend("bias")
    read = made._network.read
    alone = passes(backend("bias"), asked[:1], [])[0][0]
    made._network.read = lambda states, tokens, real: read(states, tokens, torch.ones_like(real))
    assert float((passes(made, asked, [])[0][0] - alone).abs().max()) > 1e-2


@pytest.mark.parametrize("options", [
    {"share_prefix": False}, {"share_requests": False}, {"max_batch_rows": 3}, {"reuse": True}, {"reuse": False},
])  # fmt: skip
@pytest.mark.parametrize("space", ["bias", "bias-answer"])
def test_every_way_to_batch_gives_the_same_answers(options: dict[str, Any], space: str) -> None:
    members = population(SIGMA[space])
    asked = requests(len(members))
    plain = [c.text for c in backend(space).generate(asked, members)]
    assert [c.text for c in backend(space, **options).generate(asked, members)] == plain


@pytest.mark.parametrize("space", ["bias", "bias-answer"])
def test_kept_prefixes_follow_the_centre(space: str) -> None:
    engine, fresh = backend(space, reuse=True), backend(space, reuse=True)
    members = population(SIGMA[space])
    asked = requests(len(members))
    terms = tuple(UpdateTerm(m.seed, dict.fromkeys(m.sigma, 1.0)) for m in members)
    update = Update(0, terms, dict.fromkeys(MODULES, 1.0), normalise="block")
    before = [c.text for c in engine.generate(asked, members)]
    engine.apply(update)
    fresh.apply(update)
    after = [c.text for c in engine.generate(asked, members)]
    assert after == [c.text for c in fresh.generate(asked, members)]
    assert after != before


def test_what_many_rows_share_is_read_once_and_every_pass_is_counted() -> None:
    """Two prompts under a prefix by three members and the centre, where parameters act on answers alone."""
    engine = backend("bias-answer", reuse=True)
    net = engine._network
    members = population(1.0)
    prompts = ("\nTask 1: abc", "\nx")
    asked = [
        Request("planner", prompt, PREFIXES["planner"], member, max_new_tokens=2, stop=())
        for prompt in prompts
        for member in (UNPERTURBED, 0, 2, 3)
    ]
    engine.generate(asked, members)
    prefix, *lengths = (len(engine._encode(text)) for text in (PREFIXES["planner"], *prompts))
    read, answered = prefix + sum(lengths) - 2, 8 * 2
    assert (engine.meter.prompt_tokens, engine.meter.upper_tokens) == (read, read + answered)
    cost = engine.cost()
    body = sum(p.numel() for p in net.model.model.layers.parameters())
    assert cost.flops == 2 * (body * (read + answered) + net.model.lm_head.weight.numel() * answered)
    assert net.parameters(0, 1) != net.parameters(3, 4)
    assert cost.shared_tokens == cost.prompt_tokens + cost.completion_tokens - read - answered - 8
    engine.generate(asked, members)
    assert engine.meter.prompt_tokens == 2 * read - prefix, "the prefix is kept while it is asked for"


def test_padding_is_work_but_no_prompt() -> None:
    engine = backend("bias", reuse=False)
    engine.generate([Request("planner", prompt, max_new_tokens=1, stop=()) for prompt in ("T", PROMPTS[0])], [])
    longest = len(engine._encode(PROMPTS[0]))
    assert engine.meter.prompt_tokens == longest - 1
    assert engine.meter.upper_tokens == 2 * (longest - 1) + 2


def test_what_is_off_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = backend("bias")
        made.generate(requests(0)[:2], [])
    assert isinstance(made._engine, HybridEngine)
    (line,) = caplog.messages
    for word in ("Qwen3_5ForCausalLM", "3 linear_attention", "1 full_attention", "share_trunk", "draft", "prefix"):
        assert word in line
    assert "\n" not in line


def test_deterministic_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"backend\.deterministic=true.*linear_attention.*=false") as caught:
        backend("bias", deterministic=True)
    assert "\n" not in str(caught.value)


def test_a_batch_is_cut_to_memory() -> None:
    engine = backend("bias")
    slots = Slots(engine.space, population(0.4))
    jobs = [engine._job(request, slots) for request in requests(4)[:8]]
    fitting = engine._engine.fitting
    assert fitting(jobs, 1) == 1
    assert fitting(jobs, 1 << 40) == len(jobs)
    (layer,) = (m for n, m in engine._network.model.named_modules() if n.endswith("layers.0.linear_attn"))
    states = 3 * 4 * (layer.num_v_heads * layer.head_k_dim * layer.head_v_dim + layer.conv_dim * 4)
    row = 2 * (states + jobs[0].length * 2 * 2 * 32 * 4) + engine._network.vocabulary * 4
    assert fitting(jobs, 2 * row + row // 2) == 2


def test_half_precision_runs_and_keeps_its_format() -> None:
    model, tokenizer = make_tiny(HYBRID, dtype=torch.bfloat16)
    made = HFBackend(model, tokenizer, make_space(SPACES["core"], model, MODULES), BackendConfig())
    members = population(1.0)
    (logits, *_) = passes(made, requests(4)[:3], members)
    assert logits.dtype == torch.bfloat16
    assert bool(torch.isfinite(logits).all())


@pytest.mark.parametrize("space", ["bias", "core-answer", "full", "lowrank"])
def test_scores_are_those_of_stock_transformers(space: str) -> None:
    """Of answers of one token up to many, of which the shorter are padded behind; also where weights are searched."""
    made = backend(space)
    members = [
        Perturbation(seed, sign, {block.name: 0.2 for block in made.blocks()}) for seed, sign in ((5, 1), (6, -1))
    ]
    requests, texts = scored(len(members))
    scores = made.score(requests, texts, members)
    some = range(0, len(requests), 2)
    wanted = [stock(made, requests[i], expected_answer(made, requests[i], texts[i]), members) for i in some]
    assert [scores[i] for i in some] == pytest.approx(wanted, abs=1e-4)
    assert len({round(score, 5) for score in scores}) == len(requests)


def test_members_of_the_models_own_weights_answer_as_they_do_alone() -> None:
    made = backend("lowrank")
    members = [Perturbation(seed, sign, {"whole": 0.3}) for seed in (5, 6) for sign in (1, -1)]
    asked = [replace(r, max_new_tokens=3, stop=()) for r in requests(len(members))[1:-1:5]]
    seen = passes(made, asked, members)
    for row, request in enumerate(asked):
        expected = complete(made._network.model, made._tokenizer, made.space, request, members)[2]
        torch.testing.assert_close(seen[0][row], expected[0], atol=1e-4, rtol=0)


def test_a_score_is_cut_to_its_pass_and_logits_to_theirs() -> None:
    requests, texts = scored(2)
    members = population(0.4)
    plain = backend("bias").score(requests, texts, members)
    made = backend("bias")
    made._engine._max_tokens, made._network.exact_rows = 24, 16
    sizes: list[int] = []
    logits = made._network.logits
    made._network.logits = lambda hidden: sizes.append(len(hidden)) or logits(hidden)
    assert made.score(requests, texts, members) == pytest.approx(plain, abs=1e-5)
    assert max(sizes) == 16
