"""Each scheme's formula, by hand; each wrap's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.allocation.argmax import Argmax
from esagent.allocation.burst import in_bursts
from esagent.allocation.catchup import caught_up
from esagent.allocation.floor import reserved
from esagent.allocation.ipw import Ipw
from esagent.allocation.misroute import Misroute, reversed_ranks
from esagent.allocation.oracle import Oracle
from esagent.allocation.plan import Wrap, after, no_past, plan
from esagent.allocation.random import Random
from esagent.allocation.rounding import whole
from esagent.allocation.sigma import Sigma, variances
from esagent.allocation.soft import softened
from esagent.allocation.soft_sigma import SoftSigma
from esagent.allocation.starve import Starve
from tests.allocation.table import ROUTED, made, signals

CREDIT = np.array([0.5, 0.25, 0.125, 0.125])
credits_ = st.lists(st.integers(0, 30), min_size=2, max_size=6).filter(any)


def test_soft_is_the_softmax_of_log_credit_over_tau() -> None:
    np.testing.assert_allclose(softened(CREDIT, 1.0), CREDIT)
    np.testing.assert_allclose(softened(CREDIT, 0.5), CREDIT**2 / (CREDIT**2).sum())
    log = np.log(CREDIT) / 3.0
    np.testing.assert_allclose(softened(CREDIT, 3.0), np.exp(log) / np.exp(log).sum())
    np.testing.assert_allclose(softened(np.array([1e-300, 1.0]), 0.01), [0, 1])  # no overflow, no 0 / 0
    np.testing.assert_allclose(softened(np.array([0.0, 0.5, 0.5]), 1e6), [0, 0.5, 0.5])


def test_argmax_gives_all_to_the_first_place_and_shares_ties() -> None:
    np.testing.assert_array_equal(Argmax().shares(signals(CREDIT)).p, [1, 0, 0, 0])
    tied = np.array([0.1, 0.45, 0.45 * (1 + 1e-13)])
    np.testing.assert_array_equal(Argmax().shares(signals(tied)).p, [0, 0.5, 0.5])


def test_sigma_by_hand() -> None:
    """M c = (2, 1, 0.5, 0.5), of mean 1 already and within [1/4, 4]."""
    shares = Sigma().shares(signals(CREDIT))
    np.testing.assert_allclose(shares.p, 0.25)
    np.testing.assert_allclose(shares.variance, [2, 1, 0.5, 0.5])
    # M c = (0.2, 0.2, 4.6, 0.0) is clipped to (1/4, 1/4, 4, 1/4), of mean 4.75 / 4
    clipped = variances(np.array([0.05, 0.05, 0.9 + 0.25, 0.0]) / 1.25, np.full(4, 0.25))
    np.testing.assert_allclose(clipped, np.array([0.25, 0.25, 3.68, 0.25]) / (4.43 / 4))
    np.testing.assert_allclose(variances(np.array([0.0, 1.0]), np.array([1.0, 0.0])), 1.0)


@given(credit=credits_, tau=st.floats(0.05, 20))
def test_scaled_perturbations_keep_the_energy_of_a_step(credit, tau: float) -> None:
    shares = SoftSigma(tau).shares(signals(np.array(credit) / sum(credit)))
    assert (shares.p * shares.variance).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(shares.p, softened(np.array(credit) / sum(credit), tau))


def test_ipw_divides_by_the_probability_of_being_reached() -> None:
    """Three modules that fail equally often when reached: 0.2, 0.8 * 0.2 and 0.64 * 0.2 of all episodes."""
    reached = np.array([1.0, 0.8, 0.64])
    credit = 0.2 * reached / (0.2 * reached).sum()
    np.testing.assert_allclose(Ipw(1.0, 0.1).shares(signals(credit, reached)).p, 1 / 3)
    weights = np.array([1.0, 0.8 / 0.8, 0.64 / 0.7])  # a propensity below the clip counts as the clip
    np.testing.assert_allclose(Ipw(1.0, 0.7).shares(signals(credit, reached)).p, weights / weights.sum())


def test_misroute_reverses_ranks_and_shares_ties() -> None:
    np.testing.assert_allclose(reversed_ranks(np.array([0.6, 0.3, 0.1])), [0.1, 0.3, 0.6])
    np.testing.assert_allclose(reversed_ranks(CREDIT), [0.125, 0.125, 0.375, 0.375])
    np.testing.assert_allclose(reversed_ranks(np.full(3, 1 / 3)), 1 / 3)
    np.testing.assert_allclose(
        Misroute(0.5).shares(signals([0.6, 0.3, 0.1])).p, softened(np.array([0.1, 0.3, 0.6]), 0.5)
    )


def test_random_shares_are_uniform_on_the_simplex() -> None:
    """Dirichlet(1, ..., 1): mean 1/M, variance (M - 1) / (M^2 (M + 1)), and the share of one module Beta(1, M - 1)."""
    draws = np.random.default_rng(0).uniform(size=(20_000, 4))
    p = Random().shares(signals(np.full((20_000, 4), 0.25), draws=draws)).p
    np.testing.assert_allclose(p.mean(axis=0), 0.25, atol=0.005)
    np.testing.assert_allclose(p.var(axis=0), 3 / 80, rtol=0.04)
    assert (p[:, 0] > 0.5).mean() == pytest.approx(0.5**3, abs=0.01)
    np.testing.assert_allclose(Random().shares(signals(np.full(3, 1 / 3), draws=0.0)).p, 1 / 3)


def test_random_depends_on_step_and_module_alone() -> None:
    from tests.allocation.table import ask

    one, two = (ask(made("random"), names, 3, 7).target for names in ("abc", "abcd"))
    for left, right in (("a", "b"), ("b", "c")):  # another module changes what they share, not how
        assert one[left] / one[right] == pytest.approx(two[left] / two[right])
    assert ask(made("random"), "abc", 4, 7).target != one


def test_oracle_gives_all_to_the_bottleneck() -> None:
    known = np.array([[False, True, False], [False, False, False]])
    np.testing.assert_allclose(
        Oracle().shares(signals(np.full((2, 3), 1 / 3), bottleneck=known)).p, [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3]]
    )


@pytest.mark.parametrize(("rate", "starved"), [(0.0, 0), (0.2, 2), (0.3, 3), (0.5, 5), (0.7, 7), (1.0, 10)])
def test_starved_steps_have_the_rate_and_are_evenly_spread(rate: float, starved: int) -> None:
    pattern = [Starve(rate).starved(step) for step in range(1000)]
    assert all(sum(pattern[first : first + 10]) == starved for first in range(0, 1000, 10))
    windows = {sum(pattern[first : first + 7]) for first in range(990)}
    assert max(windows) - min(windows) <= 1
    shares = [Starve(rate).shares(signals(CREDIT, bottleneck=[0, 0, 1, 0], step=step)).p for step in range(10)]
    assert sum(p[2] == 0 for p in shares) == starved
    for p, is_starved in zip(shares, pattern, strict=False):
        np.testing.assert_allclose(p, [1 / 3, 1 / 3, 0, 1 / 3] if is_starved else [1 / 4] * 4)


def walk(scheme, wrap: str, steps: int, directions: int, phi: float = 0.5):
    """Plans of a run over four modules of which the third is the bottleneck."""
    past, found = no_past((4,)), []
    for step in range(steps):
        given_ = signals(np.full(4, 0.25), bottleneck=[0, 0, 1, 0], step=step)
        found.append(plan(scheme, Wrap(wrap, phi), given_, past, directions))
        past = after(past, found[-1])
    return found


def test_bursts_keep_the_directions_and_catching_up_keeps_the_movement() -> None:
    """Half of the steps starved: with bursts all modules have equal shares in the end, without them the bottleneck has
    half as many; its steps are as few in both, and only catching up makes them worth as much as all would be."""
    plain, bursts, longer = (walk(Starve(0.5), wrap, 41, 12) for wrap in ("none", "burst", "catchup"))
    spent = [sum(made_.counts for made_ in found[1:]) for found in (plain, bursts, longer)]
    np.testing.assert_array_equal(spent[0], [140, 140, 60, 140])
    np.testing.assert_array_equal(spent[1], [120, 120, 120, 120])
    np.testing.assert_array_equal(spent[2], spent[0])
    steps = [sum((made_.counts > 0) * made_.step for made_ in found[1:]) for found in (plain, bursts, longer)]
    np.testing.assert_allclose([s[2] for s in steps], [20, 20, 40])
    np.testing.assert_allclose(steps[2], 40)


def test_burst_by_hand() -> None:
    p, out = np.array([0.25, 0.25, 0.25, 0.25]), np.array([0, 2, 0, 0])
    np.testing.assert_allclose(in_bursts(p, out), [0.25 / 3, 0.75, 0.25 / 3, 0.25 / 3])
    np.testing.assert_allclose(in_bursts(p, np.array([0, 9, 0, 0])), [0, 1, 0, 0])  # 10 / 4 of a step: all of it
    np.testing.assert_allclose(in_bursts(p, np.array([0, 0, 0, 0])), p)
    np.testing.assert_allclose(in_bursts(p, np.array([1, 1, 1, 1])), p)
    np.testing.assert_allclose(in_bursts(np.array([1.0, 0, 0]), np.array([0, 5, 5])), [1, 0, 0])


def test_catchup_by_hand() -> None:
    np.testing.assert_allclose(caught_up(np.array([2, 0, 1]), np.array([0, 3, 3])), [1, 1, 4])


def test_a_floor_keeps_a_module_alive_that_is_starved_throughout() -> None:
    counts = np.array([made_.counts for made_ in walk(Starve(1.0), "floor", 20, 8, phi=0.5)])
    np.testing.assert_array_equal(counts[:, 2], 1)
    np.testing.assert_array_equal(reserved(8, 8, 0.5, 4), [1, 1, 1, 1])
    np.testing.assert_array_equal(reserved(0, 7, 0.3, 3), [1, 1, 0])  # slots 0 and 1
    np.testing.assert_array_equal(reserved(7, 7, 0.3, 3), [1, 0, 1])  # slots 2 and 3


def greedy(owed, target, directions: int) -> np.ndarray:
    """One direction after the other to the largest account."""
    account = [(o + t) if t > 0 else -np.inf for o, t in zip(owed, target, strict=True)]
    counts = np.zeros(len(owed), dtype=int)
    for _ in range(directions):
        best = int(np.argmax(np.round(account, 9)))
        counts[best] += 1
        account[best] -= 1
    return counts


@given(data=st.data(), modules=st.integers(1, 6), directions=st.integers(1, 40))
@settings(max_examples=200)
def test_rounding_is_one_by_one_to_the_largest_account(data, modules: int, directions: int) -> None:
    weights = data.draw(st.lists(st.integers(0, 6), min_size=modules, max_size=modules).filter(any))
    owed = np.array(data.draw(st.lists(st.integers(-12, 12), min_size=modules, max_size=modules))) / 8
    target = directions * np.array(weights) / sum(weights)
    np.testing.assert_array_equal(whole(owed, target, directions), greedy(owed, target, directions))


def test_nobody_could_promise_four_modules_less_than_a_direction() -> None:
    """Shares that always turn to those who wait: 1/2 + 1/3 + 1/4 of a direction is what the last one lacks."""
    owed = np.zeros(4)
    for modules in (4, 3, 2):
        waiting = np.argsort(-owed, kind="stable")[:modules]
        target = np.full(4, 1e-7)
        target[waiting] = 1 / modules
        target /= target.sum()
        owed = owed + target - whole(owed, target, 1)
    assert owed.max() == pytest.approx(13 / 12, abs=1e-5)


@pytest.mark.parametrize(("name", "wrap"), ROUTED, ids=[f"{n}-{w.value}" for n, w in ROUTED])
def test_seeds_side_by_side_are_each_as_if_alone(name, wrap) -> None:
    rng = np.random.default_rng(2)
    scheme = made(name, wrap).scheme
    together, alone = no_past((5, 3)), [no_past((3,)) for _ in range(5)]
    for step in range(6):
        credit, reached, draws = rng.dirichlet(np.ones(3), 5), rng.uniform(0.1, 1, (5, 3)), rng.uniform(size=(5, 3))
        known = np.array([False, True, False])
        both = plan(scheme, made(name, wrap).wrap, signals(credit, reached, draws, known, step), together, 7)
        for seed in range(5):
            given_ = signals(credit[seed], reached[seed], draws[seed], known, step)
            one = plan(scheme, made(name, wrap).wrap, given_, alone[seed], 7)
            for field in ("target", "counts", "sigma", "step"):
                np.testing.assert_allclose(getattr(both, field)[seed], getattr(one, field), rtol=1e-12)
            alone[seed] = after(alone[seed], one)
        together = after(together, both)
