"""Backend hf: log-likelihoods of given answers are those of stock transformers, whatever is shared or cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from esagent.backends.hf.backend import HFBackend
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Message, Request
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import RunError
from esagent.spaces.registry import make_space
from tests.backends.reference import materialise
from tests.backends.test_hf import MODULES, PREFIXES, SPACES, backend, population
from tests.helpers.tiny import CHATML, KINDS, make_tiny

TEXTS = (" calculate", " look up\n", " multiply 12 by 7 and then some more")


def asked(members: int) -> tuple[list[Request], list[str]]:
    pairs = [
        (Request(module, "\nTask: multiply 12 by 7\nPlan:", PREFIXES[module], member, stop=("\n", "e")), text)
        for module in MODULES
        for text in TEXTS
        for member in range(UNPERTURBED, members)
    ]
    return [request for request, _ in pairs], [text for _, text in pairs]


@torch.inference_mode()
def stock(made: HFBackend, request: Request, answer: Sequence[int], members: Sequence[Perturbation]) -> float:
    """Mean log-softmax of the answer's tokens, from one plain forward pass of a model with the member's weights."""
    model, space = made._network.model, made.space
    member = None if request.member == UNPERTURBED else members[request.member]
    plain = materialise(model, space, request.module, member)
    ids = [i for text in (request.prefix, request.prompt) for i in made._tokenizer(text)["input_ids"]]
    past, rest = None, ids
    if space.answers_only:
        past = materialise(model, space, "", None)(torch.tensor([ids[:-1]]), use_cache=True).past_key_values
        rest = ids[-1:]
    logits = plain(torch.tensor([[*rest, *answer]]), past_key_values=past).logits[0, len(rest) - 1 : -1].double()
    return float(logits.log_softmax(-1).gather(1, torch.tensor(answer)[:, None]).mean())


def expected_answer(made: HFBackend, request: Request, text: str) -> list[int]:
    ended = text if any(stop in text for stop in request.stop) else text + request.stop[0]
    return list(made._tokenizer(ended)["input_ids"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_scores_are_those_of_stock_transformers_within_1e_4(kind: str, space: str) -> None:
    made, members = backend(kind, space), population()
    requests, texts = asked(len(members))
    scores = made.score(requests, texts, members)
    some = range(0, len(requests), 3)
    expected = [stock(made, requests[i], expected_answer(made, requests[i], texts[i]), members) for i in some]
    assert [scores[i] for i in some] == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 6) for score in scores}) > 20, "the perturbations must change the scores"


WEIGHTS = {
    "full": SpaceConfig("full", "all", [], positions=Positions.all, partition="whole", scale="relative"),
    "lowrank": SpaceConfig("lowrank", "all", [], positions=Positions.all, partition="whole", scale="relative", rank=2),
}


@pytest.mark.parametrize("space", WEIGHTS)
def test_where_the_models_own_weights_are_searched_as_well(space: str) -> None:
    """Embedding and head differ from member to member too, in one batch or one member after the other."""
    model, tokenizer = make_tiny("llama")
    made = HFBackend(model, tokenizer, make_space(WEIGHTS[space], model, MODULES), BackendConfig())
    members = [Perturbation(seed, sign, {"whole": 0.2}) for seed in (5, 6) for sign in (1, -1)]
    requests, texts = asked(len(members))
    scores = made.score(requests, texts, members)
    some = range(0, len(requests), 4)
    expected = [stock(made, requests[i], expected_answer(made, requests[i], texts[i]), members) for i in some]
    assert [scores[i] for i in some] == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 3) for score in scores}) > 10


@pytest.mark.parametrize("options", [
    {"share_prefix": False}, {"share_requests": False}, {"share_trunk": False}, {"max_batch_rows": 3},
])  # fmt: skip
@pytest.mark.parametrize("space", ["bias", "bias-answer"])
def test_every_sharing_switch_gives_the_same_scores(options: dict[str, Any], space: str) -> None:
    members = population()
    requests, texts = asked(len(members))
    plain = backend("llama", space).score(requests, texts, members)
    assert backend("llama", space, **options).score(requests, texts, members) == pytest.approx(plain, abs=1e-5)


def test_a_pass_is_cut_to_its_size_and_logits_to_theirs() -> None:
    """No more tokens at once than a pass may hold, and never the fp32 logits of all of them."""
    members = population()
    requests, texts = asked(len(members))
    plain = backend("llama", "core").score(requests, texts, members)
    made = backend("llama", "core")
    made._engine._max_tokens = 40
    made._network.exact_rows = 16
    sizes: list[int] = []
    logits = made._network.logits

    def watched(hidden: Tensor) -> Tensor:
        sizes.append(len(hidden))
        return logits(hidden)

    made._network.logits = watched  # type: ignore[method-assign]
    assert made.score(requests, texts, members) == pytest.approx(plain, abs=1e-5)
    assert max(sizes) == 16
    assert sum(sizes) > 300


def test_members_share_the_trunk_of_an_answer() -> None:
    """Below the lowest searched layer all members read the same tokens, once."""
    made, members = backend("llama", "core"), population()
    request = Request("planner", "\nTask: x\nPlan:", PREFIXES["planner"])
    made.score([request], [TEXTS[2]], ())
    one = made.meter.trunk_tokens
    fresh = backend("llama", "core")
    requests = [Request("planner", request.prompt, request.prefix, member) for member in (0, 1, 4, 5)]
    fresh.score(requests, [TEXTS[2]] * 4, members)
    assert fresh.meter.trunk_tokens == one
    assert fresh.meter.head_tokens == 4 * made.meter.head_tokens


def test_scores_follow_the_centre() -> None:
    made, members = backend("llama", "bias"), population()
    requests, texts = asked(len(members))
    before = made.score(requests, texts, members)
    terms = tuple(UpdateTerm(m.seed, dict.fromkeys(m.sigma, 1.0)) for m in members[::2])
    made.apply(Update(0, terms, dict.fromkeys(MODULES, 2.0), normalise="block"))
    after = made.score(requests, texts, members)
    assert before != pytest.approx(after, abs=1e-3)
    assert after[0] == pytest.approx(
        stock(made, requests[0], expected_answer(made, requests[0], texts[0]), ()), abs=1e-4
    )


def test_the_end_of_a_text_counts_where_it_has_one() -> None:
    """A stop string, or the token that ends a text; behind a choice there is none."""
    model, tokenizer = make_tiny("llama", chat_template=CHATML)
    made = HFBackend(model, tokenizer, make_space(SPACES["bias"], model, MODULES), BackendConfig())
    prompt = "Task: x\nPlan:"
    stopped = Request("planner", prompt, stop=("\n",))
    chosen = Request("planner", prompt, choices=(" add", " text"))
    chat = Request("planner", "", messages=(Message("user", "hello"),), stop=())
    plain = list(tokenizer(" add")["input_ids"])
    assert made.score([stopped], [" add"], ()) == made.score([stopped], [" add\n"], ())
    assert made.score([stopped], [" add"], ())[0] == pytest.approx(
        stock(made, stopped, list(tokenizer(" add\n")["input_ids"]), ()), abs=1e-4
    )
    assert made.score([chosen], [" add"], ())[0] == pytest.approx(stock(made, chosen, plain, ()), abs=1e-4)
    rendered = Request("planner", "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n")
    ended = [*tokenizer("add")["input_ids"], tokenizer.eos_token_id]
    assert made.score([chat], ["add"], ())[0] == pytest.approx(stock(made, rendered, ended, ()), abs=1e-4)
    with pytest.raises(RunError, match="planner: an empty text"):
        made.score([chosen], [""], ())


def test_the_likelihoods_of_all_single_tokens_sum_to_one() -> None:
    made = backend("qwen2", "core")
    request = Request("planner", "\nTask: x\nPlan:", PREFIXES["planner"], 0, choices=("any",))
    made._encode = lambda text: (int(text),) if text.isdecimal() else (1, 2, 3)  # type: ignore[method-assign]
    scores = made.score([request] * 320, [str(token) for token in range(320)], population())
    assert float(torch.tensor(scores).double().exp().sum()) == pytest.approx(1.0, abs=1e-5)


def test_logits_that_are_not_finite_give_a_score_that_is_not() -> None:
    made = backend("llama", "bias")
    far = Perturbation(3, 1, {"planner": 1e38})
    requests, texts = asked(0)
    found = made.score([Request("planner", "x", member=0), *requests], ["y", *texts], (far,))
    assert not torch.tensor(found[0]).isfinite()
    assert torch.tensor(found[1:]).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("space", ["bias-answer", "core"])
def test_deterministic_scores_are_the_same_bits_in_any_company(dtype: torch.dtype, space: str) -> None:
    def fresh() -> HFBackend:
        model, tokenizer = make_tiny("qwen3", dtype=dtype)
        return HFBackend(model, tokenizer, make_space(SPACES[space], model, MODULES), BackendConfig(deterministic=True))

    members = population()
    requests, texts = asked(len(members))
    together = fresh().score(requests, texts, members)
    for i in range(0, len(requests), 7):
        assert fresh().score([requests[i]], [texts[i]], members) == [together[i]]
    backwards = fresh().score(requests[::-1], texts[::-1], members)
    assert backwards[::-1] == together
