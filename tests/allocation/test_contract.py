"""The contract of allocation, over a table of all schemes under all wraps: the next scheme is one more line."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.allocation.base import Evidence
from esagent.allocation.registry import make_allocator
from esagent.config.schema import AllocationConfig, AllocationWrap
from esagent.core.population import Block
from esagent.errors import ConfigError
from tests.allocation.table import EVERY, ROUTED, ask, base, follow, made

each = pytest.mark.parametrize(("name", "wrap"), EVERY, ids=[f"{n}-{w.value}" for n, w in EVERY])
each_routed = pytest.mark.parametrize(("name", "wrap"), ROUTED, ids=[f"{n}-{w.value}" for n, w in ROUTED])
few = settings(max_examples=20)


@st.composite
def runs(draw, most: int = 6, steps: int = 12):
    """Names of blocks (`b` among them), directions of each step, and the credit that each step goes by."""
    names = draw(st.lists(st.text("abcde", min_size=1, max_size=2), min_size=1, max_size=most - 1, unique=True))
    names = list(dict.fromkeys([*names, "b", "a"]))[:most]  # at least two
    count = draw(st.integers(1, steps))
    directions = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    weights = st.lists(st.integers(0, 20), min_size=len(names), max_size=len(names)).filter(any)
    beliefs = []
    for _ in range(count):
        drawn = draw(weights)
        beliefs.append({name: weight / sum(drawn) for name, weight in zip(names, drawn, strict=True)})
    return names, directions, beliefs


@each
@few
@given(run=runs())
def test_every_step_spends_exactly_its_directions_on_known_blocks(name, wrap, run) -> None:
    names, directions, beliefs = run
    for count, allocation in zip(directions, follow(made(name, wrap), names, directions, beliefs)[0], strict=True):
        assert len(allocation.directions) == count
        assert allocation.counts().keys() == allocation.target.keys() == set(names)
        assert allocation.sigma.keys() == allocation.step_scale.keys() == set(names)
        each_perturbs = len(names) if name == "joint" else 1
        assert all(len(direction) == each_perturbs for direction in allocation.directions)
        assert sum(allocation.target.values()) == pytest.approx(count * each_perturbs)
        assert all(target >= 0 for target in allocation.target.values())
        assert all(0 < scale < math.inf for scale in (*allocation.sigma.values(), *allocation.step_scale.values()))
        for direction in allocation.directions:
            assert all(allocation.sigma[block] == sigma for block, sigma in direction.items())


@each
@few
@given(run=runs(), data=st.data())
def test_order_of_blocks_does_not_matter_and_nothing_is_remembered(name, wrap, run, data) -> None:
    names, directions, beliefs = run
    scheme = made(name, wrap)
    first = follow(scheme, names, directions, beliefs)
    shuffled = data.draw(st.permutations(names))
    assert follow(scheme, shuffled, directions, beliefs) == first
    assert follow(made(name, wrap), names, directions, beliefs) == first


@each_routed
@few
@given(run=runs())
def test_counts_follow_their_targets_over_the_whole_run(name, wrap, run) -> None:
    """Never more than a direction too many; too few by less than H_M - 1 where every block has a share."""
    names, directions, beliefs = run
    open_ = [{block: 0.9 * value + 0.1 / len(names) for block, value in belief.items()} for belief in beliefs]
    shares_for_all = name not in ("argmax", "oracle", "starve")
    allocations, history = follow(made(name, wrap), names, directions, open_)
    late = sum(1 / m for m in range(2, len(names) + 1))
    for block in names:
        target = sum(a.target[block] for a in allocations)
        count = sum(a.counts()[block] for a in allocations)
        assert history.owed[block] == pytest.approx(target - count, abs=1e-9)
        slack = 0.0 if shares_for_all else 0.5
        assert -1 - slack < history.owed[block] < late + 1e-6 + slack


@few
@given(run=runs(most=3))
def test_with_three_modules_counts_are_within_one_of_their_targets(run) -> None:
    names, directions, beliefs = run
    for name in ("uniform", "sigma", "soft", "random"):
        _, history = follow(made(name), names, directions, beliefs)
        assert all(abs(owed) < 1 for owed in history.owed.values())


@given(run=runs(), phi=st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.7, 1.0]), window=st.integers(1, 12), n=st.integers(1, 9))
@settings(max_examples=40)
@pytest.mark.parametrize("name", [name for name, wrap in ROUTED if wrap is AllocationWrap.floor])
def test_the_floor_is_kept_in_every_window(name, run, phi: float, window: int, n: int) -> None:
    names, _, beliefs = run
    beliefs = (beliefs * 12)[: window + 5]
    allocations, _ = follow(made(name, AllocationWrap.floor, phi), names, [n] * len(beliefs), beliefs)
    floor = math.floor(Fraction(str(phi)) * n * window / len(names))
    for first in range(len(allocations) - window + 1):
        spent: Counter[str] = Counter()
        for allocation in allocations[first : first + window]:
            spent.update(allocation.counts())
        assert all(spent[block] >= floor for block in names)


def test_without_a_floor_the_guarantee_does_not_hold() -> None:
    """Or the property above would say nothing."""
    allocations, _ = follow(made("argmax"), "ab", [4] * 5, [{"a": 0.9, "b": 0.1}] * 5)
    assert all(allocation.counts() == {"a": 4, "b": 0} for allocation in allocations)


@each
@pytest.mark.parametrize(
    ("names", "directions", "says"), [([], 4, "no block"), (["a"], 0, "at least 1"), (["a"], -2, "at least 1")]
)
def test_impossible_requests_are_refused(name, wrap, names, directions, says) -> None:
    with pytest.raises(ConfigError, match=says):
        ask(made(name, wrap), names, 0, directions)


@each
def test_a_block_without_sigma_is_named(name, wrap) -> None:
    blocks = [Block("a", 1), Block("b", 1)]
    with pytest.raises(ConfigError, match="'b'"):
        made(name, wrap).allocate(step=0, blocks=blocks, directions=2, sigma={"a": 1.0}, evidence=Evidence())


@pytest.mark.parametrize("directions", [4, 5, 8, 11])
def test_the_block_that_comes_first_rotates(directions: int) -> None:
    allocations, _ = follow(made("uniform"), "abcd", [directions] * 8, [{}] * 8)
    assert [next(iter(allocation.directions[0])) for allocation in allocations] == list("abcdabcd")


def test_uniform_by_hand() -> None:
    allocations, _ = follow(made("uniform"), ["b", "a"], [3, 3], [{}, {}])
    # Step 0 gave a, b, a; the odd direction of step 1 is b's.
    assert [[next(iter(d)) for d in allocation.directions] for allocation in allocations] == [list("aba"), list("bab")]
    assert allocations[1].counts() == {"a": 1, "b": 2}


def test_joint_perturbs_every_block_in_every_direction() -> None:
    allocation = ask(made("joint"), ["a", "b"], 3, 5)
    assert allocation.counts() == {"a": 5, "b": 5}
    assert allocation.sigma == base(["a", "b"])


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean uniform"):
        make_allocator(AllocationConfig("uniforn"))
