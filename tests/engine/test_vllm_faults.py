"""What would be silently wrong on vLLM is loud, or cannot be: each fault is planted, and seen to matter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from esagent.backends.vllm import cache
from esagent.backends.vllm import start as starting
from esagent.backends.vllm.members import Members
from esagent.backends.vllm.options import PLAIN, arguments
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import EnvironmentFailure, RunError
from tests.engine.pool import fresh, hf, maker
from tests.helpers.vector import MODULES

pytestmark = pytest.mark.engine

PREFIX = "The tool calculator adds two numbers. Which day comes ten days after? Call: calculator(12, 30)\n" * 3
"""Several blocks of the cache."""

QUOTE = " The tool calculator adds two numbers." * 8
"""The same, as an answer."""


def ask(member: int = UNPERTURBED, text: str = "Result:", tokens: int = 8) -> list[Request]:
    return [Request(module, text, PREFIX, member, tokens, stop=()) for module in MODULES]


def texts(backend: Any, requests: Sequence[Request], members: Sequence[Perturbation] = ()) -> list[str]:
    return [completion.text for completion in backend.generate(requests, members)]


def members(backend: Any, sigma: float) -> list[Perturbation]:
    names = [block.name for block in backend.blocks()]
    return [Perturbation(direction_seed(2, 0, i), s, dict.fromkeys(names, sigma)) for i in range(2) for s in (1, -1)]


def step(backend: Any, sigma: float) -> Update:
    names = [block.name for block in backend.blocks()]
    return Update(0, (UpdateTerm(5, dict.fromkeys(names, 1.0)),), dict.fromkeys(names, sigma))


def test_empty_packed_tensors_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's CPU build left to itself: parameters that no kernel reads."""

    def packed(*given: Any, **named: Any) -> dict[str, Any]:
        return arguments(*given, **named) | {"additional_config": {PLAIN: False}}

    monkeypatch.setattr(starting, "arguments", packed)
    with pytest.raises(EnvironmentFailure, match=r"cannot reach what space=full searches: .*weight.*\(and \d+ more\)"):
        fresh("full")


def test_noise_that_does_not_arrive_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and sizes fit, and still nothing happens."""
    show = Members.show
    monkeypatch.setattr(Members, "show", lambda self, member: show(self, None))
    with pytest.raises(EnvironmentFailure, match="does not reach its answers"):
        fresh("full")


@pytest.mark.parametrize("name", ["full", "lowrank"])
def test_no_prefix_of_other_weights_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sigma = 0.05 if name == "full" else 0.4
    expected = hf(name)
    before = texts(expected, ask())
    expected.apply(step(expected, sigma))
    after = texts(expected, ask())
    assert before != after, "the update must change the answers, or the test proves nothing"

    made = maker(name)()
    assert texts(made, ask()) == before
    made.apply(step(made, sigma))
    assert texts(made, ask()) == after

    made = maker(name)()
    monkeypatch.setattr(made._vllm, "_reset", lambda: None)
    monkeypatch.setattr(made._vllm, "_salt", lambda version: "")
    assert texts(made, ask()) == before
    made.apply(step(made, sigma))
    assert texts(made, ask()) != after, "stale prefixes must show, or the test proves nothing"


def test_a_cache_that_cannot_be_dropped_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = maker("full")()
    monkeypatch.setattr(made._vllm._llm, "reset_prefix_cache", lambda: False)
    with pytest.raises(RunError, match="stale"):
        made.apply(step(made, 0.01))


@pytest.mark.parametrize(("name", "sigma"), [("lora", 2.0), ("bias-everywhere", 1.0)])
def test_no_version_answers_for_another(name: str, sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hf(name)
    population = members(expected, sigma)
    asked = [request for i in range(len(population)) for request in ask(i)]
    right = [texts(expected, ask(i), population) for i in range(len(population))]
    assert len({tuple(found) for found in right}) > 1

    made = maker(name)()
    assert [texts(made, ask(i), population) for i in range(len(population))] == right
    assert texts(made, asked, population) == list(itertools.chain(*right)), "in one batch as one by one"
    made.apply(step(made, sigma))
    expected.apply(step(expected, sigma))
    assert texts(made, asked, population) == texts(expected, asked, population)

    made = maker(name)()
    monkeypatch.setattr(made._vllm, "_numbers", itertools.repeat(1))
    assert [texts(made, ask(i), population) for i in range(len(population))] != right


@pytest.mark.parametrize(("name", "sigma"), [("core", 6.0), ("bias", 1.0)])
def test_a_prompt_that_quotes_an_answer_is_read_by_the_base_model(
    name: str, sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parameters that act on answers alone: the states of an answer are a member's, those of a quote are not."""
    expected = hf(name)
    population = members(expected, sigma)
    said = Request(MODULES[0], "Result:", PREFIX, 0, 120, stop=(), choices=(QUOTE,))
    quoting = [ask(0, text=f"Result:{QUOTE}{end}")[0] for end in ("\nAnswer:", " So", " It is 12")]
    right = texts(expected, quoting, population)

    made = maker(name)()
    assert texts(made, [said], population) == [QUOTE]
    assert texts(made, quoting, population) == right
    read = made.meter.prompt_tokens
    assert texts(made, quoting, population[1:]) == texts(expected, quoting, population[1:])
    assert made.meter.prompt_tokens - read < 3 * 40, "the prompt is the base model's, and shared by all members"

    monkeypatch.setattr(cache, "extra", lambda params: {})
    made = maker(name)()
    made._vllm._reset()
    texts(made, [said], population)
    assert texts(made, quoting, population) != right, "states of the answer must show, or the test proves nothing"


def test_more_members_than_slots_take_turns() -> None:
    """8 slots, 12 members and the centre of two modules, in one call."""
    expected, made = hf("lora"), maker("lora")()
    names = [block.name for block in made.blocks()]
    population = [Perturbation(direction_seed(6, 0, i), 1, dict.fromkeys(names, 1.0)) for i in range(12)]
    asked = [request for i in range(UNPERTURBED, 12) for request in ask(i)]
    assert texts(made, asked, population) == texts(expected, asked, population)
