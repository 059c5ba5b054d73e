"""Sampling under keys, choices, stop strings and logits that are not finite: as on backend hf."""

from __future__ import annotations

import math

import pytest

from esagent.core.episode import Request
from esagent.core.population import Perturbation
from tests.engine.pool import hf, maker
from tests.helpers.vector import MODULES

pytestmark = pytest.mark.engine


def test_samples_choices_and_ends_are_those_of_hf() -> None:
    made, expected = maker("bias")(), hf("bias")
    population = [Perturbation(3, 1, {"finder": 2.0})]
    asked = [
        Request(module, f"Task {i}", member=member, max_new_tokens=6, temperature=t, seed=i, stop=stop)
        for module in MODULES
        for i in range(3)
        for member in (-1, 0)
        for t, stop in ((0.0, ()), (0.9, ("e",)), (0.0, ("a", " t")))
    ]
    asked += [
        Request(module, f"Which? {i}", choices=("yes", "no", "yes please"), temperature=t, seed=i, max_new_tokens=9)
        for module in MODULES
        for i in range(3)
        for t in (0.0, 2.0)
    ]
    for found, wanted, request in zip(
        made.generate(asked, population), expected.generate(asked, population), asked, strict=True
    ):
        assert (found.text, found.stop_reason) == (wanted.text, wanted.stop_reason), request
        assert found.completion_tokens == wanted.completion_tokens, request
        assert found.prompt_tokens == wanted.prompt_tokens


def test_logits_that_are_not_finite_are_told_apart_and_stay_with_their_member() -> None:
    """The other requests take over the blocks of the cache that the broken ones leave."""
    made = maker("bias")()
    broken = Perturbation(3, 1, {"finder": math.inf})
    asked = [Request(module, f"Task {i}", member=0, stop=()) for i in range(4) for module in ("finder", "writer")]
    found = made.generate(asked, [broken])
    assert {completion.stop_reason for completion in found[::2]} == {"nonfinite"}
    alone = hf("bias").generate(asked[1::2], [broken])
    assert [completion.text for completion in found[1::2]] == [completion.text for completion in alone]
    assert {completion.stop_reason for completion in found[1::2]} == {"length"}
    assert not math.isfinite(made.score([Request("finder", "Task", member=0)], ["x"], [broken])[0])


def test_a_prompt_that_fills_the_context_is_not_sent() -> None:
    made = maker("bias")()
    long = Request("finder", "word " * 600, max_new_tokens=4)
    (found,) = made.generate([long], ())
    assert found.stop_reason == "context"
    assert "512" in found.note
