"""The contract of allocation, over a table of schemes: the next scheme is one more line."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.allocation.base import Allocator
from esagent.allocation.joint import Joint
from esagent.allocation.registry import SCHEMES, make_allocator
from esagent.allocation.uniform import Uniform
from esagent.config.schema import AllocationConfig
from esagent.core.population import Block
from esagent.errors import ConfigError

TABLE: dict[str, Allocator] = {"uniform": Uniform(), "joint": Joint()}
EVERY = pytest.mark.parametrize("scheme", TABLE.values(), ids=TABLE.keys())
names_of_blocks = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


def call(scheme: Allocator, names: list[str], step: int, directions: int):
    blocks = [Block(name, 10 + i) for i, name in enumerate(names)]
    sigma = {name: 0.1 * (1 + i) for i, name in enumerate(sorted(names))}
    credit = {name: 1 / len(names) for name in names}
    return scheme.allocate(step=step, blocks=blocks, directions=directions, sigma=sigma, credit=credit), sigma


def test_the_table_holds_every_scheme() -> None:
    assert TABLE.keys() == SCHEMES.keys()
    assert all(type(make_allocator(AllocationConfig(name))) is type(scheme) for name, scheme in TABLE.items())


@EVERY
@given(names=names_of_blocks, step=st.integers(0, 10_000), directions=st.integers(1, 40))
def test_budget_is_exact_and_only_known_blocks_get_a_sigma(scheme, names, step, directions) -> None:
    allocation, sigma = call(scheme, names, step, directions)
    assert len(allocation.directions) == directions
    for direction in allocation.directions:
        assert direction
        assert all(direction[name] == sigma[name] > 0 for name in direction)
    assert sum(allocation.counts().values()) == sum(len(d) for d in allocation.directions)


@EVERY
@given(names=names_of_blocks, step=st.integers(0, 10_000), directions=st.integers(1, 40), data=st.data())
def test_order_of_blocks_does_not_matter_and_nothing_is_remembered(scheme, names, step, directions, data) -> None:
    first, _ = call(scheme, names, step, directions)
    call(scheme, names, step + 1, directions + 3)
    sigma_order = data.draw(st.permutations(names))
    assert call(scheme, list(sigma_order), step, directions)[0] == first


@EVERY
@pytest.mark.parametrize(
    ("names", "directions", "says"), [([], 4, "no block"), (["a"], 0, "at least 1"), (["a"], -2, "at least 1")]
)
def test_impossible_requests_are_refused(scheme, names, directions, says) -> None:
    with pytest.raises(ConfigError, match=says):
        call(scheme, names, 0, directions)


@EVERY
def test_a_block_without_sigma_is_named(scheme) -> None:
    with pytest.raises(ConfigError, match="'b'"):
        scheme.allocate(step=0, blocks=[Block("a", 1), Block("b", 1)], directions=2, sigma={"a": 1.0}, credit={})


@given(names=names_of_blocks, directions=st.integers(1, 12), steps=st.integers(1, 40))
def test_uniform_stays_within_one_of_equal_shares_after_every_step(names, directions, steps) -> None:
    total: Counter[str] = Counter()
    for step in range(steps):
        allocation, _ = call(Uniform(), names, step, directions)
        assert all(len(direction) == 1 for direction in allocation.directions)
        total.update(allocation.counts())
        target = (step + 1) * directions / len(names)
        assert all(abs(total[name] - target) < 1 for name in names)


@pytest.mark.parametrize("directions", [4, 5, 8, 11])
def test_uniform_rotates_the_block_that_comes_first(directions: int) -> None:
    first = [next(iter(call(Uniform(), list("abcd"), step, directions)[0].directions[0])) for step in range(8)]
    assert first == list("abcdabcd")


def test_uniform_by_hand() -> None:
    allocation, _ = call(Uniform(), ["b", "a"], 1, 3)
    # Step 0 gave a, b, a; the odd direction of step 1 is b's.
    assert [next(iter(d)) for d in allocation.directions] == ["b", "a", "b"]
    assert allocation.counts() == {"a": 1, "b": 2}


@given(names=names_of_blocks, directions=st.integers(1, 12))
def test_joint_perturbs_every_block_in_every_direction(names, directions) -> None:
    allocation, _ = call(Joint(), names, 3, directions)
    assert allocation.counts() == dict.fromkeys(names, directions)


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean uniform"):
        make_allocator(AllocationConfig("uniforn"))
