"""CoPES against ES: what random subspaces change, and what is only a longer step (PAPERS: arXiv 2608.02391)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from esagent.config.schema import Config, StepFactor
from tests.algorithms.table import settings
from tests.algorithms.world import SIZE, World

SLOPES = np.linspace(-1.0, 1.5, SIZE)
MEMBERS, PARTS = 24, 4


def smooth(theta: np.ndarray) -> np.ndarray:
    """A smooth function with gradient SLOPES at 0."""
    return np.sin(theta @ SLOPES) + 0.5 * np.cos(3.0 * theta).sum(axis=-1) + np.exp(-(theta**2).sum(axis=-1))


def arm(name: str, sigma: float = 1e-3, **changes: object) -> Config:
    """An arm of the comparison: one step size for all, K parts, N members."""
    config = settings(name)
    algorithm = replace(config.algorithm, directions=MEMBERS, **changes)
    algorithm.step = replace(algorithm.step, start=0.1, end=0.1)
    return replace(
        config,
        algorithm=algorithm,
        sigma=replace(config.sigma, start=sigma, end=sigma),
        space=replace(config.space, partition="random", parts=PARTS),
    )


def moves(config: Config, runs: int) -> np.ndarray:
    """First steps from 0 [runs, SIZE], seed by seed."""
    found = []
    for seed in range(runs):
        world = World(config, seed)
        world.step(0, smooth)
        found.append(world.theta)
    return np.array(found)


def test_to_first_order_copes_is_es_with_alpha_times_the_root_of_k() -> None:
    runs = 60
    copes = moves(arm("copes"), runs)
    longer = moves(arm("es_at_scale", step_factor=StepFactor.sqrt_blocks), runs)
    unit = SLOPES / np.linalg.norm(SLOPES)
    difference = (copes - longer) @ unit  # matched seeds
    error = difference.std() / runs**0.5
    assert abs(difference.mean()) < 4 * error
    assert error < 0.1 * (longer @ unit).mean()  # far less than the factor of 2 that is at stake
    np.testing.assert_allclose(longer[:3], PARTS**0.5 * moves(arm("es_at_scale"), 3), rtol=1e-5)
    # E u = alpha sqrt(K) grad / |grad|, number by number
    each = copes.std(axis=0) / runs**0.5
    assert (np.abs(copes.mean(axis=0) - 0.1 * PARTS**0.5 * unit) < 4.5 * each + 0.02 * 0.1).all()
    # and the lengths: E|u|^2 is larger by (N + d + K) / (N + d + 1) where rewards are linear
    ratio = (copes**2).sum(axis=1).mean() / (longer**2).sum(axis=1).mean()
    assert ratio == pytest.approx((MEMBERS + SIZE + PARTS) / (MEMBERS + SIZE + 1), rel=0.12)


def test_as_sigma_goes_to_0_only_the_gradient_counts() -> None:
    """One step against the formula with linear rewards, term by term; the error falls with sigma."""
    errors = []
    for sigma in (1e-2, 1e-3):
        world = World(arm("copes", sigma), 7)
        population = world.ask(0)
        offsets = np.stack([world.member(member) for member in population.members])
        rewards = offsets @ SLOPES
        z = (rewards - rewards.mean()) / rewards.std()
        sigmas = np.array([next(iter(member.sigma.values())) for member in population.members])
        expected = 0.1 * PARTS / MEMBERS * (z[:, None] * offsets / sigmas[:, None]).sum(axis=0)
        world.step(0, smooth)
        errors.append(np.abs(world.theta - expected).max() / np.abs(expected).max())
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 0.02


def test_sigma_by_size_is_the_root_of_d_over_d_k_for_unequal_blocks() -> None:
    config = settings("by-size")
    sigma, step = World(config).scales.at(0)
    assert sigma == pytest.approx({"a": 0.1 * (SIZE / 12) ** 0.5, "b": 0.1 * (SIZE / 4) ** 0.5})
    assert step == pytest.approx({name: 0.4 * value for name, value in sigma.items()})
    parts, _ = World(settings("copes")).scales.at(0)
    assert parts == pytest.approx(dict.fromkeys(parts, 0.2))
    assert len(parts) == PARTS


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sqrt-members", 0.1 * 12**0.5 * 0.1), ("sqrt-blocks", 0.3 * 2**0.5 * 0.1), ("absolute-step", 0.04)],
)
def test_step_sizes_by_hand(name: str, expected: float) -> None:
    _, step = World(settings(name)).scales.at(0)
    assert step == pytest.approx({"a": expected, "b": expected})
