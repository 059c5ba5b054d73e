"""Backend hf: ends, choices, samples, memory, accounting."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from esagent.backends.hf.backend import HFBackend
from esagent.backends.hf.prompts import common
from esagent.config.schema import BackendConfig, SpaceConfig
from esagent.core.episode import Request
from esagent.core.population import Perturbation
from esagent.errors import EnvironmentFailure, RunError
from esagent.spaces.registry import make_space
from tests.helpers.tiny import HYBRID, make_tiny

both = pytest.mark.parametrize("kind", ["llama", HYBRID])
"""The packed engine, and the one for models with recurrent layers."""


def backend(kind: str = "llama", **options: Any) -> HFBackend:
    model, tokenizer = make_tiny(kind)
    space = make_space(SpaceConfig(layers="2-3"), model, ["m", "other"])
    return HFBackend(model, tokenizer, space, BackendConfig(**options))


@both
def test_length_and_stop_are_told_apart_and_the_stop_string_is_cut(kind: str) -> None:
    engine = backend(kind)
    free = engine.generate([Request("m", "Task: add", max_new_tokens=12, stop=())], [])[0]
    assert free.stop_reason == "length"
    assert free.completion_tokens == 12
    stop = free.text[5]
    ended = engine.generate([Request("m", "Task: add", max_new_tokens=12, stop=(stop,))], [])[0]
    assert ended.stop_reason == "stop"
    assert ended.text == free.text[: free.text.index(stop)]


@both
def test_a_choice_is_always_one_of_the_choices_even_when_one_begins_another(kind: str) -> None:
    engine = backend(kind)
    choices = ("add", "addition", "text")
    for prompt in ("a", "b", "Task: what", "Tool:"):
        out = engine.generate([Request("m", prompt, choices=choices)], [])[0]
        assert out.text in choices
        assert out.stop_reason == "stop"


@both
def test_samples_depend_on_the_seed_alone(kind: str) -> None:
    engine = backend(kind)
    ask = [Request("m", "Task", max_new_tokens=8, stop=(), temperature=1.5, seed=s) for s in (1, 2, 3, 1)]
    texts = [c.text for c in engine.generate(ask, [])]
    assert texts[0] == texts[3]
    assert len(set(texts)) > 1
    assert [c.text for c in engine.generate(list(reversed(ask)), [])] == texts[::-1]


@both
def test_greedy_sampled_and_closed_requests_share_a_batch(kind: str) -> None:
    ask = [Request("m", f"Task {i}", max_new_tokens=2 + i, stop=()) for i in range(3)]
    ask += [Request("m", f"Task {i}", max_new_tokens=7 - i, stop=(), temperature=1.5, seed=i) for i in range(5)]
    ask += [Request("m", f"Tool {i}:", choices=("add", "addition", "text"), temperature=float(i)) for i in range(2)]
    alone = [backend(kind).generate([request], [])[0].text for request in ask]
    for order in (ask, ask[::-1], ask[1::2] + ask[::2]):
        answers = dict(zip(order, backend(kind).generate(order, []), strict=True))
        assert [answers[request].text for request in ask] == alone


@both
def test_sampling_follows_the_probabilities(kind: str) -> None:
    engine = backend(kind)
    network = engine._network
    draws = 400
    ask = [Request("m", "Tool", max_new_tokens=1, stop=(), temperature=0.7, seed=s) for s in range(draws)]
    seen: list[torch.Tensor] = []
    original = network.logits
    network.logits = lambda *given: seen.append(original(*given)) or seen[-1]
    texts = [c.text for c in engine.generate(ask, [])]
    wanted = torch.softmax(seen[0][0].double() / 0.7, -1)
    said = [engine._tokenizer.decode([token], skip_special_tokens=True) for token in range(len(wanted))]
    best = said[int(wanted.argmax())]
    chance = sum(float(wanted[token]) for token, text in enumerate(said) if text == best)
    assert abs(texts.count(best) / draws - chance) < 4 * (chance * (1 - chance) / draws) ** 0.5


@both
def test_logits_that_are_not_finite_are_a_failure_of_the_model(kind: str) -> None:
    engine = backend(kind)
    bad = Perturbation(1, 1, {"m": float("inf")})
    good, broken = engine.generate([Request("m", "x", member=-1), Request("m", "x", member=0)], [bad])
    assert good.stop_reason != "nonfinite"
    assert broken.stop_reason == "nonfinite"


@both
def test_running_out_of_memory_halves_the_batch_and_changes_nothing(kind: str) -> None:
    ask = [Request("m", f"Task {i}", max_new_tokens=5, stop=()) for i in range(16)]
    plain = [c.text for c in backend(kind).generate(ask, [])]
    engine = backend(kind, max_batch_rows=16)
    advance = engine._engine.advance
    sizes: list[int] = []

    def small(live: Any) -> None:
        sizes.append(len(live.jobs))
        if len(live.jobs) > 4 and any(outcome.tokens for outcome in live.outcomes):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        advance(live)  # what was done before the failure must not count twice

    engine._engine.advance = small  # type: ignore[method-assign]
    assert [c.text for c in engine.generate(ask, [])] == plain
    assert sizes[:5] == [16, 16, 8, 8, 4]
    assert max(sizes[4:]) == 4


def test_a_single_row_that_does_not_fit_ends_with_one_line() -> None:
    engine = backend()

    def never(jobs: Any) -> Any:
        raise torch.OutOfMemoryError("not enough memory")

    engine._engine.complete = never  # type: ignore[method-assign]
    with pytest.raises(RunError, match="single row"):
        engine.generate([Request("m", "x")], [])


def test_other_errors_are_not_mistaken_for_memory() -> None:
    engine = backend()

    def broken(jobs: Any) -> Any:
        raise RuntimeError("shape mismatch")

    engine._engine.complete = broken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="shape"):
        engine.generate([Request("m", "x"), Request("m", "y")], [])


@both
def test_identical_requests_are_answered_once_and_counted_as_shared(kind: str) -> None:
    engine = backend(kind)
    members = [Perturbation(i, 1, {"other": 0.5}) for i in range(3)]
    ask = [Request("m", "\nTask", prefix="Few shots\n", member=i, max_new_tokens=3, stop=()) for i in (-1, 0, 1, 2)]
    answers = engine.generate(ask, members)
    assert [a.shared for a in answers] == [False, True, True, True]
    cost = engine.cost()
    each = answers[0].prompt_tokens + answers[0].completion_tokens
    assert cost.prompt_tokens + cost.completion_tokens == 4 * each
    assert cost.shared_tokens == 3 * each
    assert cost.flops > 0
    alone = backend(kind)
    alone.generate(ask[:1], members)
    assert alone.cost().flops == cost.flops


def test_a_prefix_is_shared_from_the_second_time_on() -> None:
    engine = backend()
    one, two = (Request("m", f"\n{i} Task", prefix="Few shots\n", max_new_tokens=3, stop=()) for i in (1, 2))
    prefix = len(engine._encode("Few shots\n"))
    engine.generate([one], [])
    assert engine.cost().shared_tokens == 0
    engine.generate([two], [])
    assert engine.cost().shared_tokens == prefix
    engine.generate([one], [])  # its prompt was kept, but for the last token, which the answer starts from
    assert engine.cost().shared_tokens == 2 * prefix + len(engine._encode("\n1 Task")) - 1


def test_what_prompts_begin_with_alike_is_computed_once() -> None:
    engine, apart = backend(), backend()
    apart._engine._reader._share = False  # type: ignore[attr-defined]
    texts = [f"\nTask: take 12 times {i}, then turn it around and add {j}\nPlan:" for i in (7, 8) for j in range(3)]
    ask = [Request("m", text, prefix="Few shots\n", max_new_tokens=4, stop=()) for text in texts]
    assert engine.generate(ask[:1], []) == apart.generate(ask[:1], [])
    for part in (ask[1:], ask):
        assert [a.text for a in engine.generate(part, [])] == [a.text for a in apart.generate(part, [])]
    encoded = [engine._encode(text) for text in texts]
    assert apart.meter.prompt_tokens == len(engine._encode("Few shots\n")) + sum(len(text) - 1 for text in encoded)
    # The first of each multiplier is computed from the multiplier on, the two others from the number they add.
    alike = [common(encoded[0], encoded[i]) for i in (1, 2, 3)] + [common(encoded[3], encoded[i]) for i in (4, 5)]
    assert apart.meter.prompt_tokens - engine.meter.prompt_tokens == sum(alike)


@both
def test_an_empty_prompt_is_refused_by_name(kind: str) -> None:
    with pytest.raises(RunError, match="module m"):
        backend(kind).generate([Request("m", "")], [])


@pytest.mark.parametrize("kinds", [("full_attention", "sliding_attention"), ("linear_attention", "linear_attention")])
def test_a_stack_that_no_engine_can_run_is_refused(kinds: tuple[str, str]) -> None:
    model, tokenizer = make_tiny("qwen3")
    model.config.layer_types = [*kinds, *kinds]
    with pytest.raises(EnvironmentFailure, match=kinds[1]):
        HFBackend(model, tokenizer, make_space(SpaceConfig(layers="2-3"), model, ["m"]), BackendConfig())
