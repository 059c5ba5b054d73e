"""backend.deterministic: not a bit of an answer depends on what else is in the batch, in fp32 and bfloat16."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from esagent.backends.hf.backend import HFBackend
from esagent.backends.hf.prompts import PromptStates
from esagent.config.schema import BackendConfig, Positions, SpaceConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation
from esagent.errors import EnvironmentFailure
from esagent.spaces.registry import make_space
from tests.backends.bits import Bits
from tests.helpers.tiny import KINDS, make_tiny

MODULES = ("planner", "caller")
SPACES = {
    "bias": SpaceConfig(name="bias", layers="2-3", positions=Positions.answer),
    "core": SpaceConfig(name="core", layers="1-3", sites=["o_proj", "down_proj"], rank=4, positions=Positions.all),
    "lora": SpaceConfig(
        name="lora", layers="2-3", sites=["o_proj", "up_proj"], rank=3, sigma_a=0.5, positions=Positions.all
    ),
}
MEMBERS = tuple(
    Perturbation(direction_seed(3, 0, i), sign, dict.fromkeys(blocks, 0.7))
    for i, blocks in enumerate([("planner",), ("caller",), MODULES])
    for sign in (1, -1)
)
PREFIXES = {
    "planner": "Task: add 2 and 3\nPlan: calculate\n\nTask: what day is it\nPlan: look up\n" * 3,
    "caller": "Task: add 2 and 3\nCall: calculator(2 + 3)\n",
}
PROMPTS = ["\nTask: multiply 12 by 7", "\nx", "\nTask: " + "a long story " * 9]


def requests() -> list[Request]:
    greedy = [
        Request(module, prompt, PREFIXES[module], member, max_new_tokens=new, stop=("\n",))
        for module, prompt, member, new in itertools.product(MODULES, PROMPTS, (UNPERTURBED, 0, 3, 4), (3, 7))
    ]
    other = [
        Request("caller", PROMPTS[0], PREFIXES["caller"], 2, choices=("add", "addition", "text")),
        Request("planner", PROMPTS[1], PREFIXES["planner"], 0, max_new_tokens=9, stop=(), temperature=1.3, seed=5),
        Request("planner", "no shots at all", member=4, max_new_tokens=9, stop=()),
    ]
    return greedy[::2] + greedy[1::4] + other


def backend(kind: str, dtype: torch.dtype, space: str, **options: Any) -> HFBackend:
    model, tokenizer = make_tiny(kind, dtype=dtype)
    made = make_space(SPACES[space], model, MODULES)
    return HFBackend(model, tokenizer, made, BackendConfig(**{"deterministic": True, **options}))


def alone(kind: str, dtype: torch.dtype, space: str) -> list[tuple[str, set[bytes]]]:
    """Text and logits of each request by itself, from a backend that shares nothing, guesses nothing, keeps nothing."""
    off = {"share_prefix": False, "share_requests": False, "share_trunk": False, "draft": False}
    made = backend(kind, dtype, space, **off)
    made._engine._states = PromptStates(0)
    bits, out = Bits(made), []
    for request in requests():
        bits.seen = set()
        out.append((made.generate([request], MEMBERS)[0].text, bits.seen))
    return out


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"draft": False, "max_batch_rows": 7},
    {"share_prefix": False},
    {"share_requests": False},
    {"share_trunk": False},
)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_and_logits_are_the_same_bits_in_any_company(kind: str, dtype: torch.dtype, space: str) -> None:
    expected = alone(kind, dtype, space)
    everything = requests()
    assert len({text for text, _ in expected}) > 10, "the requests must differ, or the test proves nothing"
    chance = random.Random(f"{kind} {dtype} {space}")
    for options in (OPTIONS[0], *chance.sample(OPTIONS[1:], 2)):
        made = backend(kind, dtype, space, **options)
        bits = Bits(made)
        for size in (chance.randrange(2, 12), len(everything)):  # the second meets warm caches and drafts
            chosen = chance.sample(range(len(everything)), size)
            chosen += chance.choices(chosen, k=3)
            answers = made.generate([everything[i] for i in chosen], MEMBERS)
            for i, answer in zip(chosen, answers, strict=True):
                text, logits = expected[i]
                assert answer.text == text, (options, everything[i])
                assert logits <= bits.seen, (options, everything[i])


def test_without_it_logits_do_depend_on_the_company() -> None:
    """Else the test above could not fail."""
    everything = requests()
    made = backend("llama", torch.float32, "bias", deterministic=False)
    bits = Bits(made)
    made.generate(everything, MEMBERS)
    assert any(not logits <= bits.seen for _, logits in alone("llama", torch.float32, "bias"))


def test_a_machine_that_cannot_keep_the_promise_is_refused() -> None:
    model, tokenizer = make_tiny("llama")
    down = model.model.layers[2].mlp.down_proj
    down.register_forward_hook(lambda module, inputs, output: output + 1e-3 * output.mean(0))
    space = make_space(SPACES["bias"], model, MODULES)
    HFBackend(model, tokenizer, space, BackendConfig())
    with pytest.raises(EnvironmentFailure, match=r"backend\.threads=1"):
        HFBackend(model, tokenizer, space, BackendConfig(deterministic=True))


def test_angles_that_change_with_the_batch_are_refused() -> None:
    model, tokenizer = make_tiny("llama")
    model.model.rotary_emb.rope_type = "dynamic"
    with pytest.raises(EnvironmentFailure, match="dynamic"):
        HFBackend(model, tokenizer, make_space(SPACES["bias"], model, MODULES), BackendConfig(deterministic=True))
