"""The contract of a search algorithm, over a table of strategies: the next one is one more line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from esagent.algorithms.es import EvolutionStrategy
from esagent.algorithms.registry import make_strategy
from esagent.allocation.base import Allocation
from esagent.config.schema import AlgorithmConfig, Rule, Shaping, UpdateNorm
from esagent.core.noise import gaussian
from esagent.core.population import Population, Update
from esagent.errors import ConfigError, RunError

TABLE = {
    "es": EvolutionStrategy(seed=3),
    "es-zscore": EvolutionStrategy(seed=3, shaping="zscore"),
    "es-ranks": EvolutionStrategy(seed=3, shaping="ranks"),
    "es-one-sided": EvolutionStrategy(seed=3, antithetic=False, shaping="zscore"),
    "es-total": EvolutionStrategy(seed=3, norm="total", normalise="none"),
    "es-momentum": EvolutionStrategy(seed=3, rule="momentum", momentum=0.9),
}
EVERY = pytest.mark.parametrize("strategy", TABLE.values(), ids=TABLE.keys())
STEP = {"a": 0.1, "b": 0.2}


def split(directions: int) -> Allocation:
    return Allocation(tuple({"ab"[i % 2]: 0.5} for i in range(directions)))


def estimate(update: Update, block: str, size: int) -> np.ndarray:
    noise = [t.coefficient[block] * gaussian(t.seed, block, 0, size).double().numpy() for t in update.terms]
    return np.sum(noise, axis=0)


def linear_rewards(population: Population, block: str, gradient: np.ndarray) -> np.ndarray:
    def reward(p) -> float:
        return p.sign * p.sigma[block] * float(gradient @ gaussian(p.seed, block, 0, len(gradient)).double().numpy())

    return np.array([[reward(p)] for p in population.members])


@EVERY
def test_ask_is_deterministic_and_directions_never_repeat(strategy) -> None:
    assert strategy.ask(4, split(6)) == strategy.ask(4, split(6))
    seeds = [p.seed for step in range(20) for p in strategy.ask(step, split(6)).members]
    twins = 2 if strategy.antithetic else 1
    assert len(set(seeds)) == 20 * 6 == len(seeds) // twins


@EVERY
def test_members_follow_the_allocation_and_twins_mirror(strategy) -> None:
    population = strategy.ask(0, split(6))
    assert population.directions == 6
    stride = 2 if strategy.antithetic else 1
    assert [p.sigma for p in population.members[::stride]] == [dict(d) for d in split(6).directions]
    assert all(p.sign == 1 for p in population.members[::stride])
    if strategy.antithetic:
        for plus, minus in zip(population.members[::2], population.members[1::2], strict=True):
            assert (plus.seed, plus.sigma, plus.sign) == (minus.seed, minus.sigma, -minus.sign)


@EVERY
@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, np.nan, np.inf, -np.inf])
def test_equal_or_failed_rewards_move_nothing(strategy, value: float) -> None:
    population = strategy.ask(0, split(4))
    update = strategy.tell(population, np.full((len(population.members), 7), value), step_size=STEP)
    assert update.terms == ()
    assert update.step_size == {"a": 0.0, "b": 0.0}


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_failed_member_counts_as_the_worst(strategy, bad: float) -> None:
    population = strategy.ask(0, split(4))
    rewards = np.random.default_rng(0).uniform(0.2, 0.8, (len(population.members), 3))
    rewards[:, 0] = np.linspace(0.2, 0.8, len(rewards))
    rewards[2, 1] = bad
    update = strategy.tell(population, rewards, step_size=STEP)
    sank = next(t for t in update.terms if t.seed == population.members[2].seed)
    values = [value for t in update.terms for value in t.coefficient.values()]
    assert np.isfinite(values).all()
    assert all(value < 0 for value in sank.coefficient.values())


@EVERY
def test_tell_is_pure_and_keeps_step_and_step_size(strategy) -> None:
    population = strategy.ask(5, split(4))
    rewards = np.random.default_rng(1).uniform(size=(len(population.members), 3))
    before = rewards.copy()
    update = strategy.tell(population, rewards, step_size=STEP)
    assert (rewards == before).all()
    assert update == strategy.tell(population, rewards, step_size=STEP)
    assert (update.step, update.step_size) == (5, STEP)


@EVERY
def test_a_better_side_pulls_the_estimate_towards_it(strategy) -> None:
    """On a linear reward the estimate has a positive product with the gradient, block by block."""
    size = 12
    gradient = np.random.default_rng(2).normal(size=size)
    population = strategy.ask(0, Allocation(({"a": 0.3},) * 64))
    update = strategy.tell(population, linear_rewards(population, "a", gradient), step_size=STEP)
    assert estimate(update, "a", size) @ gradient > 0


@pytest.mark.parametrize(("directions", "size"), [(4, 20), (16, 20), (40, 12)])
def test_cosine_with_the_gradient_follows_its_exact_law(directions: int, size: int) -> None:
    """With N iid directions in d dimensions cos^2 ~ Beta(N/2, (d-1)/2): mean N / (N + d - 1).

    The estimate is W g with W Wishart: W_11 = s ~ chi2_N and, given s, W_j1 ~ N(0, s), so cos^2 = s / (s + chi2_{d-1}).
    N / (N + d + 1), often quoted, is the ratio of the expectations (next test).
    """
    gradient = np.random.default_rng(3).normal(size=size)
    squares = []
    for run in range(200):
        strategy = EvolutionStrategy(seed=run, normalise="none")
        population = strategy.ask(0, Allocation(({"a": 0.1},) * directions))
        update = strategy.tell(population, linear_rewards(population, "a", gradient), step_size=STEP)
        g = estimate(update, "a", size)
        squares.append((g @ gradient) ** 2 / (g @ g) / (gradient @ gradient))
    law = stats.beta(directions / 2, (size - 1) / 2)
    assert np.mean(squares) == pytest.approx(directions / (directions + size - 1), abs=4 * law.std() / np.sqrt(200))
    assert stats.kstest(squares, law.cdf).pvalue > 1e-3


def test_signal_and_length_of_the_estimate_have_the_ratio_n_to_n_plus_d_plus_1() -> None:
    directions, size, runs = 16, 30, 400
    gradient = np.random.default_rng(4).normal(size=size)
    gradient /= np.linalg.norm(gradient)
    along, length = [], []
    for run in range(runs):
        strategy = EvolutionStrategy(seed=run, normalise="none")
        population = strategy.ask(0, Allocation(({"a": 0.1},) * directions))
        g = estimate(strategy.tell(population, linear_rewards(population, "a", gradient), step_size=STEP), "a", size)
        along.append(g @ gradient)
        length.append(g @ g)
    assert np.mean(along) == pytest.approx(0.1, rel=0.06)  # sigma times the gradient: unbiased
    assert np.mean(along) ** 2 / np.mean(length) == pytest.approx(directions / (directions + size + 1), rel=0.1)


def test_scalars_carry_the_rule() -> None:
    population = EvolutionStrategy(seed=0).ask(0, split(2))
    rewards = np.arange(4.0)[:, None]
    momentum = EvolutionStrategy(seed=0, rule="momentum", momentum=0.5).tell(population, rewards, step_size=STEP)
    adam = EvolutionStrategy(seed=0, rule="adam").tell(population, rewards, step_size=STEP)
    assert (momentum.rule, dict(momentum.scalars)) == ("momentum", {"momentum": 0.5})
    assert (adam.rule, dict(adam.scalars)) == ("adam", {"beta1": 0.9, "beta2": 0.999})


@pytest.mark.parametrize("shape", [(3, 2), (4, 0), (4,)])
def test_rewards_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    strategy = EvolutionStrategy(seed=0)
    with pytest.raises(RunError, match="do not fit"):
        strategy.tell(strategy.ask(0, split(2)), np.zeros(shape), step_size=STEP)


def test_the_configuration_reaches_the_strategy() -> None:
    config = AlgorithmConfig(
        antithetic=False, shaping=Shaping.ranks, rule=Rule.momentum, momentum=0.7, update_norm=UpdateNorm.total
    )
    expected = EvolutionStrategy(9, False, "ranks", "total", "block", "momentum", 0.7)
    assert make_strategy(config, 9) == expected
    with pytest.raises(ConfigError, match="choose from es"):
        make_strategy(AlgorithmConfig(name="sgd"), 0)
