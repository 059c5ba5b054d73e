"""Update rules against hand-computed numbers and the papers' own statements."""

from __future__ import annotations

import pytest
import torch

from esagent.core.rules import State, advance


def run(rule: str, estimates: list[list[float]], **scalars: float) -> list[list[float]]:
    """The directions that a rule makes of a series of estimates."""
    state: State = {}
    found = []
    for step, estimate in enumerate(estimates):
        direction, after = advance(rule, torch.tensor(estimate, dtype=torch.float64), state, step, scalars)
        state = {slot: value.double() for slot, value in after.items()}
        found.append(direction.tolist())
    return found


def test_plain_is_the_estimate() -> None:
    assert run("plain", [[1.0, -2.0], [3.0, 0.0]]) == [[1.0, -2.0], [3.0, 0.0]]


def test_momentum_by_hand() -> None:
    """m: 1, 0.5 * 1 + 2 = 2.5, 0.5 * 2.5 = 1.25."""
    assert run("momentum", [[1.0], [2.0], [0.0]], momentum=0.5) == [[1.0], [2.5], [1.25]]


def test_adam_is_that_of_torch() -> None:
    """Ascent on estimates is torch's descent on their negatives."""
    estimates = [[1.0, -0.2], [0.3, 0.0], [-2.0, 0.1], [0.5, 0.5]]
    place = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimiser = torch.optim.Adam([place], lr=1.0, betas=(0.8, 0.95), eps=1e-8)
    moved = []
    for estimate in estimates:
        before = place.detach().clone()
        place.grad = -torch.tensor(estimate, dtype=torch.float64)
        optimiser.step()
        moved.append((place.detach() - before).tolist())
    for ours, theirs in zip(run("adam", estimates, beta1=0.8, beta2=0.95), moved, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_slots_that_are_no_rules_are_left_alone() -> None:
    state = {"start": torch.ones(1)}
    assert set(advance("momentum", torch.ones(1), state, 0, {"momentum": 0.9})[1]) == {"m"}
    assert advance("plain", torch.ones(1), state, 0, {})[1] == state
