"""What the estimates are worth, in numbers: against exact laws where there are some, and an independent simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.algorithms.measure import (
    GRADIENT,
    START,
    TASKS,
    TAU,
    cos2,
    cosine,
    floor,
    linear,
    quadratic,
)
from tests.algorithms.reference import Reference, cosine_law
from tests.algorithms.table import DIRECTIONS, NAMES, PRESETS, SIGMA, settings
from tests.algorithms.world import SIZE, World

ESTIMATES = [name for name in NAMES if name not in ("momentum", "adam", "pull", "absolute-step", "raw")]
"""Those whose estimate is not that of `es`."""

FLOORS = (*PRESETS, "ranks", "group", "momentum", "adam", "pull")


@pytest.mark.parametrize("name", ESTIMATES)
def test_cosine_with_the_gradient_follows_its_law(name: str) -> None:
    figure = cosine(name, 40)
    assert abs(figure.deviation) < 4, figure
    assert figure.expected > 4 * figure.spread / 40**0.5  # else the band would hold 0


def test_the_simulation_follows_the_exact_law() -> None:
    """N/(N + d - 1) with N directions; N/(N + d + 1), often quoted, is the ratio of the expectations (next test)."""
    assert cosine_law(settings("joint")).mean() == pytest.approx(DIRECTIONS / (DIRECTIONS + SIZE - 1))
    single = 2 * DIRECTIONS
    assert cosine_law(settings("es_at_scale")).mean() == pytest.approx((single - 1) / (single + SIZE - 2))
    for name in ("joint", "one-sided", "mezo", "es_at_scale"):
        runs = Reference(settings(name), 2000, np.random.default_rng(3))
        values = cos2(runs.estimate(np.zeros((2000, SIZE)), linear)[0])
        assert stats.kstest(values, cosine_law(settings(name)).cdf).pvalue > 1e-3


def test_signal_and_length_of_the_estimate_have_the_ratio_n_to_n_plus_d_plus_1() -> None:
    along, length = [], []
    for seed in range(300):
        world = World(settings("joint"), seed)
        population = world.ask(0)
        rewards = linear(np.stack([world.member(member) for member in population.members]))[:, None]
        g = world.estimate(world.tell(population, rewards))
        along.append(g @ GRADIENT / np.linalg.norm(GRADIENT))
        length.append(g @ g)
    slope = SIGMA * np.linalg.norm(GRADIENT)
    assert np.mean(along) == pytest.approx(slope, abs=4 * np.std(along) / 300**0.5)  # unbiased
    ratio = slope**2 / np.mean(length)
    assert ratio == pytest.approx(DIRECTIONS / (DIRECTIONS + SIZE + 1), rel=4 * np.std(length) / np.mean(length) / 17.3)


@pytest.mark.parametrize("name", FLOORS)
def test_a_noisy_quadratic_is_brought_down_to_the_simulated_floor(name: str) -> None:
    figure = floor(name, 2)
    assert abs(figure.deviation) < 4, figure
    assert figure.spread < 0.3 * figure.expected  # else the band says little
    assert figure.expected < -0.5 * float(quadratic(START))


def test_the_simulated_floor_is_that_of_the_closed_form() -> None:
    """theta' = theta - a W theta + a/N sum_i n_i eps_i with a = alpha sigma and n_i of variance tau^2 / (2 T sigma^2).

    In d dimensions with curvature 1 and N joint antithetic directions, E|theta|^2 settles at
    a d v / N / (2 - a (N + d + 1) / N) for noise of variance v.
    """
    config = settings("raw")
    config = type(config)(**{**vars(config), "allocation": type(config.allocation)("joint")})
    alpha = config.algorithm.step.start * SIGMA  # the step follows sigma
    a, n = alpha * SIGMA, config.algorithm.directions
    v = TAU**2 / (2 * TASKS) / SIGMA**2
    expected = a * SIZE * v / n / (2 - a * (n + SIZE + 1) / n)
    walk = Reference(config, 400, np.random.default_rng(4)).walk(
        START, lambda theta: -0.5 * (theta**2).sum(axis=-1), 200, TAU, TASKS
    )
    assert -2 * walk[100:].mean() == pytest.approx(expected, rel=0.05)
