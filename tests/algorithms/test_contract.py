"""The contract of a search algorithm, over the table of presets and options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from esagent.algorithms.es import EvolutionStrategy
from esagent.algorithms.registry import make_strategy
from esagent.config.schema import AlgorithmConfig, Control, Rule, Shaping, UpdateNorm
from esagent.core.population import Update
from esagent.errors import ConfigError, RunError
from esagent.runs.codec import decode_update, encode_update
from tests.algorithms.measure import GRADIENT, START, linear, quadratic
from tests.algorithms.table import NAMES, settings
from tests.algorithms.world import World

EVERY = pytest.mark.parametrize("name", NAMES)


def rewards_of(world: World, members: int, tasks: int = 3) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.2, 0.8, (members, tasks))


def walked(name: str, steps: int = 4, control: Control = Control.none) -> tuple[World, list[Update]]:
    config = settings(name)
    world = World(replace(config, algorithm=replace(config.algorithm, control=control)), 3, START, scale=0.5)
    noise = np.random.default_rng(0).normal(size=(steps, len(world.ask(0).members), 2))
    return world, [world.step(step, quadratic, 0.1 * noise[step]) for step in range(steps)]


@EVERY
def test_ask_is_deterministic_and_directions_never_repeat(name: str) -> None:
    world = World(settings(name), 3)
    assert world.ask(4) == world.ask(4) == World(settings(name), 3).ask(4)
    members = [p for step in range(20) for p in world.ask(step).members]
    directions = 20 * world.config.algorithm.directions
    assert len({p.seed for p in members}) == directions
    assert len(members) == directions * (2 if world.config.algorithm.antithetic else 1)


@EVERY
def test_members_follow_the_allocation_and_twins_mirror(name: str) -> None:
    world = World(settings(name), 3, scale=0.5)
    population = world.ask(0)
    sigma, _ = world.scales.at(0)
    blocks = 1 if world.config.allocation.name == "uniform" else len(sigma)
    assert all(len(p.sigma) == blocks and p.sigma.items() <= sigma.items() for p in population.members)
    if not population.antithetic:
        assert {p.sign for p in population.members} == {1}
        return
    for plus, minus in zip(population.members[::2], population.members[1::2], strict=True):
        assert (
            (plus.seed, plus.sigma, plus.sign) == (minus.seed, minus.sigma, -minus.sign) == (plus.seed, plus.sigma, 1)
        )
        np.testing.assert_allclose(world.member(plus), -world.member(minus), atol=1e-7)


@EVERY
@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, np.nan, np.inf, -np.inf])
def test_equal_or_failed_rewards_move_nothing(name: str, value: float) -> None:
    """Not even a rule that remembers earlier steps, or a pull."""
    world, _ = walked(name, 2)
    before, population = world.theta, world.ask(2)
    update = world.tell(population, np.full((len(population.members), 7), value))
    assert update.terms == ()
    assert set(update.step_size.values()) == {0.0}
    world.parameters.apply(update)
    assert (world.theta == before).all()


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_failed_member_counts_as_the_worst(name: str, bad: float) -> None:
    world = World(settings(name), 3)
    population = world.ask(0)
    rewards = rewards_of(world, len(population.members))
    rewards[:, 0] = np.linspace(0.2, 0.8, len(rewards))
    failing = 0 if len(rewards) == 2 else 4  # the first member of a direction
    rewards[failing, 1] = bad
    if len(rewards) == 2:  # its twin is then the only finite one, and nothing is known
        assert world.tell(population, rewards).terms == ()
        return
    update = world.tell(population, rewards)
    sank = next(t for t in update.terms if t.seed == population.members[failing].seed)
    assert np.isfinite([value for t in update.terms for value in t.coefficient.values()]).all()
    assert all(value < 0 for value in sank.coefficient.values())


@EVERY
def test_tell_is_pure_and_names_the_step(name: str) -> None:
    world = World(settings(name), 3)
    population = world.ask(5)
    rewards = rewards_of(world, len(population.members))
    before = rewards.copy()
    update = world.tell(population, rewards)
    assert (rewards == before).all()
    assert update == world.tell(population, rewards)
    assert (update.step, update.step_size, update.partition) == (
        5,
        world.scales.at(5)[1],
        population.members[0].partition,
    )


@EVERY
def test_the_same_keys_give_the_same_bits_and_a_replay_of_the_journal_too(name: str, tmp_path: Path) -> None:
    one, updates = walked(name)
    two, _ = walked(name)
    assert one.parameters.digest() == two.parameters.digest()
    world = World(settings(name), 3, START, scale=0.5)
    for update in updates:
        digest = world.parameters.apply(decode_update(json.loads(json.dumps(encode_update(update))))).digest
        if update.step == 1:
            world.parameters.save(tmp_path / "s.safetensors")
            world = World(settings(name), 3, scale=0.5)
            world.parameters.load(tmp_path / "s.safetensors")
    assert digest == one.parameters.digest()
    other = World(settings(name), 4, START, scale=0.5)
    other.step(0, quadratic)
    assert other.parameters.digest() != one.parameters.digest()


@EVERY
def test_frozen_never_moves(name: str) -> None:
    world, updates = walked(name, control=Control.frozen)
    assert all(update.terms for update in updates)
    assert {size for update in updates for size in update.step_size.values()} == {0.0}
    assert (world.theta == START.astype(np.float32)).all()
    assert (walked(name)[0].theta != START.astype(np.float32)).all()


@EVERY
def test_shuffled_rewards_say_nothing_about_the_gradient(name: str) -> None:
    """The mean cosine over runs is 0 within its error, where that of the method itself is far from it."""
    runs = 25
    means = {}
    for control in (Control.none, Control.shuffled):
        config = settings(name)
        config = replace(config, algorithm=replace(config.algorithm, control=control))
        found = []
        for seed in range(runs):
            world = World(config, seed)
            population = world.ask(seed)
            rewards = linear(np.stack([world.member(member) for member in population.members]))[:, None]
            g = world.estimate(world.tell(population, rewards))
            norm = np.linalg.norm(g) * np.linalg.norm(GRADIENT)
            found.append(g @ GRADIENT / norm if norm else 0.0)
        means[control] = np.mean(found) / (np.std(found) / runs**0.5 + 1e-12)
    assert abs(means[Control.shuffled]) < 4
    assert means[Control.none] > 4


def test_scalars_carry_the_rule() -> None:
    def scalars(**changes) -> tuple[str, dict[str, float]]:
        config = settings("es")
        world = World(replace(config, algorithm=replace(config.algorithm, **changes)))
        update = world.tell(world.ask(0), np.arange(12.0)[:, None])
        return update.rule, dict(update.scalars)

    assert scalars(rule=Rule.momentum, momentum=0.5) == ("momentum", {"momentum": 0.5})
    assert scalars(rule=Rule.adam, beta2=0.99) == ("adam", {"beta1": 0.9, "beta2": 0.99})
    assert scalars(pull=0.3) == ("plain", {"pull": 0.3})


@pytest.mark.parametrize("shape", [(3, 2), (12, 0), (12,)])
def test_rewards_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    world = World(settings("es"))
    with pytest.raises(RunError, match="do not fit"):
        world.tell(world.ask(0), np.zeros(shape))


def test_the_configuration_reaches_the_strategy() -> None:
    config = AlgorithmConfig(
        antithetic=False,
        shaping=Shaping.ranks,
        rule=Rule.momentum,
        momentum=0.7,
        update_norm=UpdateNorm.total,
        divide_by_sigma=True,
        pull=0.1,
        beta1=0.8,
        beta2=0.95,
        control=Control.shuffled,
    )
    expected = EvolutionStrategy(9, False, "ranks", "total", "block", "momentum", 0.7, 0.8, 0.95, True, 0.1, "shuffled")
    assert make_strategy(config, 9) == expected
    with pytest.raises(ConfigError, match="choose from es, es_at_scale"):
        make_strategy(AlgorithmConfig(name="sgd"), 0)
