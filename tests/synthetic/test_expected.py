"""The closed forms against simulated steps of the real search: its noise, its members, its estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from esagent.algorithms.es import EvolutionStrategy
from esagent.allocation.base import Allocation
from esagent.core.chain import jump_moments, passed, reward_table, skill, slopes, start_distance
from esagent.core.noise import gaussian
from esagent.synthetic.expected import ExpectedStep, first_steps, gaussian_step, linear_step
from tests.synthetic.configs import short

SIZE, DIRECTIONS, STEPS = 6, 3, 4000
SKILLS = np.array([0.8, 0.4, 0.7])
MODULE, GRADED = 1, 0.5


def simulated(
    skill_of: Callable[[np.ndarray], np.ndarray], sigma: float, tasks: Callable[[int], np.ndarray]
) -> np.ndarray:
    """Estimates [steps, size] of module 1 at theta = 0, over `tasks(step)` difficulties [T, M]."""
    strategy = EvolutionStrategy(seed=5, normalise="none")
    rewards = reward_table(len(SKILLS), GRADED)
    found = np.zeros((STEPS, SIZE))
    alone = Allocation(({"m": sigma},) * DIRECTIONS, {"m": float(DIRECTIONS)}, {"m": sigma}, {"m": 1.0})
    for step in range(STEPS):
        population = strategy.ask(step, alone)
        noise = np.stack([gaussian(member.seed, "m", 0, SIZE).numpy() for member in population.members])
        theta = np.array([[member.sign * sigma] for member in population.members]) * noise
        skills = np.repeat(SKILLS[None], len(theta), axis=0)
        skills[:, MODULE] = skill_of(theta)
        update = strategy.tell(population, rewards[passed(skills, tasks(step))], step_size={"m": 1.0})
        for term in update.terms:
            found[step] += term.coefficient["m"] * gaussian(term.seed, "m", 0, SIZE).numpy()
    return found


def check(estimates: np.ndarray, towards: np.ndarray, expected: ExpectedStep) -> None:
    """Both means within 4 standard errors, which must be small enough to tell something."""
    for values, wanted in (
        (estimates @ towards, expected.progress),
        (np.square(estimates).sum(axis=1), expected.squared),
    ):
        error = values.std(ddof=1) / STEPS**0.5
        assert error < 0.05 * wanted
        assert values.mean() == pytest.approx(wanted, abs=4 * error)


def test_a_gaussian_skill_without_noise_of_tasks() -> None:
    width, ceiling, sigma = 1.3, 0.9, 0.3
    distance = start_distance(0.4, ceiling, width)
    optimum = np.zeros(SIZE)
    optimum[0] = distance
    grid = np.stack([(np.arange(400) + 0.5) / 400] * 3, axis=1)
    grid[:, [0, 2]] = 0.0  # the others are always right, so that the reward is r_1 + (r_3 - r_1) p
    estimates = simulated(
        lambda theta: skill(np.square(theta - optimum).sum(axis=1), ceiling, width), sigma, lambda step: grid
    )
    slope = float(slopes(np.array([1.0, 0.4, 1.0]), GRADED)[MODULE])
    expected = gaussian_step(
        size=SIZE, directions=DIRECTIONS, sigma=sigma, distance=distance, ceiling=ceiling, width=width, slope=slope
    )
    check(estimates, optimum / distance, expected)


def test_a_linear_skill_on_a_few_tasks() -> None:
    gradient, sigma, tasks = 0.5, 0.15, 5
    generator = np.random.default_rng(1)
    towards = np.full(SIZE, SIZE**-0.5)
    estimates = simulated(
        lambda theta: SKILLS[MODULE] + gradient * theta @ towards, sigma, lambda step: generator.random((tasks, 3))
    )
    jump, jump_squared = jump_moments(SKILLS, MODULE, GRADED)
    expected = linear_step(
        size=SIZE,
        directions=DIRECTIONS,
        sigma=sigma,
        gradient=gradient,
        tasks=tasks,
        jump=jump,
        jump_squared=jump_squared,
    )
    check(estimates, towards, expected)


def test_more_directions_mean_less_noise_and_the_same_progress() -> None:
    one, many = (gaussian_step(size=32, directions=n, sigma=0.1, distance=1.4) for n in (1, 16))
    assert one.progress == many.progress
    assert many.squared < one.squared / 6


def test_both_forms_agree_where_both_hold() -> None:
    """A short perturbation of a Gaussian skill, and so many tasks that their noise is nothing."""
    config = short("sigma.start=1e-4", "task.pool=1000000", "budget.tasks_per_step=1000000")
    found = list(first_steps(config, "caller", (1, 4)))
    assert [n for n, _, _ in found] == [1, 4]
    for _, exact, linear in found:
        assert exact.progress == pytest.approx(linear.progress, rel=1e-4)
        assert exact.squared == pytest.approx(linear.squared, rel=0.05)
