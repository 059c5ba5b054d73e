"""Stochastic rounding: a neighbour always, the number itself on average, mirrored under mirrored words."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.rounding import WORDS, stochastic

EVERY = torch.arange(WORDS)


@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_over_all_words_the_mean_is_the_number_itself(number: float) -> None:
    """Exactly: each of the 2^16 words is as likely, and a float32 has 2^16 places between two bfloat16."""
    rounded = stochastic(torch.full((WORDS,), number), EVERY).double()
    low, high = rounded.min().item(), rounded.max().item()
    neighbours = torch.tensor([low, high], dtype=torch.float32).view(torch.int32) >> 16
    assert int((neighbours[1] - neighbours[0]).abs()) <= 1
    assert low <= number <= high
    share = float((rounded == high).double().mean())
    exact = torch.tensor(number, dtype=torch.float32).double().item()
    assert low + (high - low) * share == pytest.approx(exact, rel=1e-12, abs=0.0) or low == high == exact


@given(st.integers(0, WORDS - 1), st.floats(1.0, 1.9375, width=16), st.floats(0.0, 0.03125, width=32))
def test_mirrored_words_mirror_a_step(word: int, start: float, step: float) -> None:
    """Around a bfloat16 away from the ends of its binade, for steps with no bits below the words'."""
    centre = torch.tensor([start]).bfloat16().float().clamp(1.0625, 1.9)
    centre = centre.bfloat16().float()
    step = torch.tensor([step])
    step = (centre + step) - centre  # what the sum can hold
    up = stochastic(centre + step, torch.tensor([word]))
    down = stochastic(centre - step, torch.tensor([WORDS - 1 - word]))
    assert torch.equal((up.double() + down.double()) / 2, centre.double())


def test_what_is_a_bfloat16_stays_and_what_is_not_finite_too() -> None:
    exact = torch.tensor([0.0, -0.0, 1.0, -3.5, 2.0**-130, math.inf, -math.inf])
    for word in (0, 1, WORDS - 1):
        found = stochastic(exact, torch.full((len(exact),), word))
        assert torch.equal(found.float().view(torch.int32), exact.view(torch.int32))
    assert bool(stochastic(torch.tensor([math.nan]), torch.tensor([WORDS - 1])).isnan())
