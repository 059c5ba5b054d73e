"""The estimate's coefficients against hand-computed numbers."""

from __future__ import annotations

import numpy as np
import pytest

from esagent.core.estimate import direction_weights, estimate_terms
from esagent.core.population import Perturbation, Population


def population(*names: tuple[str, ...], antithetic: bool = True) -> Population:
    signs = (1, -1) if antithetic else (1,)
    members = tuple(Perturbation(10 + i, s, dict.fromkeys(n, 0.5)) for i, n in enumerate(names) for s in signs)
    return Population(0, members, antithetic)


def test_antithetic_weights_are_half_differences() -> None:
    weights = direction_weights(population(("a",), ("b",)), np.array([0.9, 0.1, 0.2, 0.6]))
    np.testing.assert_allclose(weights, [0.4, -0.2])


def test_block_norm_averages_over_the_blocks_own_directions() -> None:
    terms = estimate_terms(population(("a",), ("a",), ("b",)), np.array([1.0, 0, 0, 1, 3, 1]), "block")
    assert [(t.seed, dict(t.coefficient)) for t in terms] == [(10, {"a": 0.25}), (11, {"a": -0.25}), (12, {"b": 1.0})]


def test_total_norm_averages_over_all_directions() -> None:
    terms = estimate_terms(population(("a",), ("a",), ("b",)), np.array([1.0, 0, 0, 1, 3, 1]), "total")
    assert [dict(t.coefficient) for t in terms] == [
        {"a": pytest.approx(1 / 6)},
        {"a": pytest.approx(-1 / 6)},
        {"b": pytest.approx(1 / 3)},
    ]


def test_joint_directions_count_for_each_of_their_blocks_once_per_pair() -> None:
    terms = estimate_terms(population(("a", "b"), ("a", "b")), np.array([2.0, 0, 1, 0]), "block")
    assert [dict(t.coefficient) for t in terms] == [{"a": 0.5, "b": 0.5}, {"a": 0.25, "b": 0.25}]


def test_one_sided_directions_use_their_weight_as_it_is() -> None:
    terms = estimate_terms(population(("a",), ("a",), antithetic=False), np.array([1.0, -2.0]), "block")
    assert [dict(t.coefficient) for t in terms] == [{"a": 0.5}, {"a": -1.0}]


def test_tied_pairs_are_left_out_but_still_count_in_the_mean() -> None:
    terms = estimate_terms(population(("a",), ("a",)), np.array([0.5, 0.5, 1.0, 0.0]), "block")
    assert [(t.seed, dict(t.coefficient)) for t in terms] == [(11, {"a": 0.25})]


def test_divided_by_sigma_it_is_the_two_point_estimate_of_mezo() -> None:
    """(R+ - R-) / (2 sigma) with R+ 0.9, R- 0.1, sigma 0.5."""
    terms = estimate_terms(population(("a",)), np.array([0.9, 0.1]), divide_by_sigma=True)
    assert [(t.seed, dict(t.coefficient)) for t in terms] == [(10, {"a": pytest.approx(0.8)})]


def test_every_block_is_divided_by_its_own_sigma() -> None:
    members = tuple(Perturbation(1, sign, {"a": 0.5, "b": 0.25}) for sign in (1, -1))
    terms = estimate_terms(Population(0, members), np.array([1.0, 0.0]), divide_by_sigma=True)
    assert dict(terms[0].coefficient) == {"a": 1.0, "b": 2.0}
