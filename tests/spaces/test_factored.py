"""Noise of low rank: its moments, its sums, and the same bits however a tensor is cut."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.core.noise import direction_seed, gaussian
from esagent.errors import ConfigError
from esagent.spaces.factored import LowRank
from esagent.spaces.forms import Dense
from esagent.spaces.tensors import SearchTensor

MATRIX = SearchTensor("up.weight", "up", 150 * 40, 1.0, row=40)
VECTOR = SearchTensor("norm.weight", "norm", 40, 1.0)


@pytest.mark.parametrize("rank", [1, 3])
def test_noise_is_the_product_of_its_factors(rank: int) -> None:
    form = LowRank(rank)
    up, down = form.factors(9, MATRIX)
    assert (up.shape, down.shape) == ((150, rank), (40, rank))
    noise = form.draw(9, MATRIX, 0, MATRIX.size).view(150, 40)
    torch.testing.assert_close(noise, up @ down.T / math.sqrt(rank))
    assert int(torch.linalg.matrix_rank(noise.double(), tol=1e-4)) == rank


@pytest.mark.parametrize("rank", [1, 2, 8])
def test_elements_have_mean_zero_and_variance_one_and_are_uncorrelated(rank: int) -> None:
    """Over directions. E[e^4] = 3 + 6/r: heavier tails than a normal number's, lighter with the rank."""
    small = SearchTensor("w", "w", 12, 1.0, row=3)
    form, n = LowRank(rank), 6000
    draws = torch.stack([form.draw(direction_seed(1, 0, i), small, 0, 12) for i in range(n)]).double()
    assert float(draws.mean(0).abs().max()) < 4.5 / math.sqrt(n)
    products = draws.T @ draws / n
    off = products - torch.diag(products.diag())
    fourth = 3 + 6 / rank
    assert float((products.diag() - 1).abs().max()) < 4.5 * math.sqrt((fourth - 1) / n)
    assert float(off.abs().max()) < 5 * math.sqrt(fourth / n)
    assert float(draws.pow(4).mean()) == pytest.approx(fourth, rel=0.12)


@pytest.mark.parametrize("rank", [1, 4])
def test_directions_steps_and_tensors_of_one_shape_have_noise_of_their_own(rank: int) -> None:
    form = LowRank(rank)
    twin = SearchTensor("gate.weight", "gate", MATRIX.size, 1.0, row=40)
    first = form.draw(direction_seed(1, 0, 0), MATRIX, 0, MATRIX.size)
    others = [
        form.draw(direction_seed(1, 0, 1), MATRIX, 0, MATRIX.size),
        form.draw(direction_seed(1, 1, 0), MATRIX, 0, MATRIX.size),
        form.draw(direction_seed(1, 0, 0), twin, 0, MATRIX.size),
    ]
    for other in others:
        # cos of two rank-r matrices of n x m: the mean square is 1 / (n m), whatever the rank
        assert abs(float(torch.corrcoef(torch.stack([first, other]))[0, 1])) < 6 / math.sqrt(MATRIX.size)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 200), st.integers(1, 9))
def test_no_element_depends_on_the_range_that_is_asked_for(data: st.DataObject, rank: int, rows: int, row: int) -> None:
    tensor = SearchTensor("w", "w", rows * row, 1.0, row=row)
    first = data.draw(st.integers(0, rows - 1))
    count = data.draw(st.integers(1, rows - first))
    terms = [(direction_seed(2, 0, i), w) for i, w in enumerate(data.draw(st.lists(st.floats(-2, 2), max_size=4)))]
    part = slice(first * row, (first + count) * row)
    whole, cut = LowRank(rank), LowRank(rank)
    assert torch.equal(
        cut.total(terms, tensor, part.start, count * row), whole.total(terms, tensor, 0, tensor.size)[part]
    )
    assert torch.equal(cut.draw(5, tensor, part.start, count * row), whole.draw(5, tensor, 0, tensor.size)[part])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sum_is_that_of_its_directions(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        form, weights = LowRank(2), [0.5, -1.25, 0.0, 3.0]
        terms = [(direction_seed(1, 0, i), weight) for i, weight in enumerate(weights)]
        total = form.total(terms, MATRIX, 0, MATRIX.size)
        expected = sum(weight * form.draw(seed, MATRIX, 0, MATRIX.size).double() for seed, weight in terms)
        torch.testing.assert_close(total, expected, atol=1e-5, rtol=0)
        one = form.total([(terms[0][0], 1.0)], MATRIX, 0, MATRIX.size).float()
        assert torch.equal(one, form.draw(terms[0][0], MATRIX, 0, MATRIX.size)), (
            "perturbation and update are one function"
        )
    finally:
        torch.set_num_threads(before)


def test_a_sum_over_many_directions_has_full_rank() -> None:
    terms = [(direction_seed(1, 0, i), 1.0) for i in range(60)]
    total = LowRank(1).total(terms, MATRIX, 0, MATRIX.size).view(150, 40)
    assert int(torch.linalg.matrix_rank(total)) == 40


def test_vectors_get_independent_numbers() -> None:
    form = LowRank(3)
    assert torch.equal(form.draw(7, VECTOR, 0, 40), gaussian(7, "norm.weight", 0, 40))
    terms = [(7, 1.0), (8, -2.0)]
    assert torch.equal(form.total(terms, VECTOR, 0, 40), Dense().total(terms, VECTOR, 0, 40))


def test_nothing_sums_to_nothing() -> None:
    assert not LowRank(1).total([(7, 0.0)], MATRIX, 0, 80).any()


def test_a_sigma_for_every_number_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"up\.weight"):
        LowRank(1).total([(7, torch.ones(80))], MATRIX, 0, 80)
