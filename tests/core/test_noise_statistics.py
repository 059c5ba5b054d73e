"""The noise as a random source: each check is a z-score, small for the noise and huge for the fault it is there for.

A check returns the largest of its statistics in units of that statistic's standard error under the exact law. The noise
has to stay below BAND: about 3e-12 per statistic, and everything is a fixed function of its keys. Each planted fault
has to exceed CERTAIN in the check named beside it, so a check that could not fail would show.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import stats

from esagent.core.laws import LAWS, Law
from esagent.core.noise import direction_seed, draw
from esagent.core.words import cut, words

BAND, CERTAIN = 7.0, 20.0
N = 1 << 20
SHORT = 1 << 14  # elements per stream where many streams are compared

Source = Callable[[Law, tuple[int, int, int], str, int], np.ndarray]
"""(law, (run seed, step, direction), tensor, count) -> the first `count` elements, float64."""


def sound(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return draw(law, direction_seed(*direction), tensor, 0, count).numpy().astype(np.float64)


@cache
def values(law: Law) -> np.ndarray:
    """The values of the quantised law, in order, all of the same probability."""
    upper = stats.norm.ppf((np.arange(32768, 65536) + 0.5) / 65536)
    upper /= np.sqrt(np.mean(upper**2))
    return np.array([-1.0, 1.0]) if law == "rademacher" else np.concatenate([-upper[::-1], upper])


def sample(source: Source, law: Law) -> np.ndarray:
    return source(law, (0, 0, 0), "model.layers.0.weight", N)


def moments(source: Source, law: Law) -> float:
    """The first eight moments against those of the exact law."""
    x, exact = sample(source, law), values(law)
    found, expected, scores = np.ones_like(x), np.ones_like(exact), []
    for _ in range(8):
        found, expected = found * x, expected * exact
        error = max(expected.std() / np.sqrt(N), 1e-12)  # the even moments of signs do not vary
        scores.append(abs(found.mean() - expected.mean()) / error)
    return float(max(scores))


def tails(source: Source, law: Law) -> float:
    """How many numbers lie beyond each cut, on either side, against the exact count."""
    x, exact = sample(source, law), values(law)
    scores = [0.0]
    for cut_at in (-4.2, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.2):
        p = float((exact > cut_at).mean())
        if 0 < p < 1:
            scores.append(abs((x > cut_at).sum() - N * p) / np.sqrt(N * p * (1 - p)))
    return max(scores)


def cells(source: Source, law: Law) -> float:
    """Chi-square over every value that the law can take."""
    x, exact = sample(source, law), values(law)
    middle = np.searchsorted((exact[1:] + exact[:-1]) / 2, x)
    counts = np.bincount(middle, minlength=len(exact))
    freedom = len(exact) - 1
    return float((((counts - N / len(exact)) ** 2).sum() * len(exact) / N - freedom) / np.sqrt(2 * freedom))


def distribution(source: Source, law: Law) -> float:
    """Kolmogorov-Smirnov against the normal distribution, as the z-score of the same tail probability."""
    x = np.sort(sample(source, law))
    steps = np.arange(N + 1) / N
    below = stats.norm.cdf(x)
    distance = max(np.abs(steps[1:] - below).max(), np.abs(below - steps[:-1]).max())
    return float(stats.norm.isf(stats.kstwobign.sf(distance * np.sqrt(N)) / 2))


def lags(source: Source, law: Law) -> float:
    """Circular autocorrelation at every lag, of the numbers and of their squares."""
    x = sample(source, law)
    return max(_largest_lag(y) for y in ((x, x**2) if law == "gaussian" else (x,)))


def _largest_lag(y: np.ndarray) -> float:
    y = (y - y.mean()) / y.std()
    power = np.abs(np.fft.rfft(y)) ** 2
    return float(np.abs(np.fft.irfft(power)[1 : len(y) // 2]).max() / np.sqrt(len(y)))


def neighbours(source: Source, law: Law) -> float:
    """Chi-square of the joint distribution of two numbers 1 to 8 places apart, 16 x 16 cells of equal probability."""
    x = sample(source, law)
    cell = np.searchsorted(values(law)[4096::4096], x, side="right")
    scores = []
    for lag in range(1, 9):
        joint = np.bincount(16 * cell[:-lag] + cell[lag:], minlength=256)
        expected = (N - lag) / 256
        scores.append((((joint - expected) ** 2).sum() / expected - 255) / np.sqrt(2 * 255))
    return max(scores)


def bits(source: Source, law: Law) -> float:
    """Balance and pairwise correlation of the 64 bits of a word, read off the numbers made from it."""
    x = sample(source, law)
    if law == "gaussian":
        index = np.searchsorted((values(law)[1:] + values(law)[:-1]) / 2, x).astype("<u2")
        x = np.unpackbits(index.view(np.uint8), bitorder="little") * 2.0 - 1.0
    rows = x.reshape(-1, 64)
    gram = rows.T @ rows / np.sqrt(len(rows))
    return float(max(np.abs(np.triu(gram, 1)).max(), np.abs(rows.sum(0)).max() / np.sqrt(len(rows))))


def _between(streams: list[np.ndarray]) -> float:
    """Correlation of any two streams at any shift."""
    spectra = np.fft.rfft(np.stack(streams))
    scores = []
    for i in range(len(streams) - 1):
        crossed = np.fft.irfft(spectra[i] * spectra[i + 1 :].conj())
        scores.append(np.abs(crossed).max() / np.sqrt(crossed.shape[1]))
    return float(max(scores))


def tensors(source: Source, law: Law) -> float:
    names = [f"model.layers.{i}.{kind}.weight" for i in range(8) for kind in ("q_proj", "k_proj")] + ["w", "w@m", "w@n"]
    return _between([source(law, (0, 0, 0), name, SHORT) for name in names])


def steps(source: Source, law: Law) -> float:
    return _between([source(law, (0, step, 1), "w", SHORT) for step in range(24)])


def directions(source: Source, law: Law) -> float:
    """Directions of two successive steps together: they must not be numbered through."""
    return _between([source(law, (0, step, i), "w", SHORT) for step in (0, 1) for i in range(12)])


def runs(source: Source, law: Law) -> float:
    return _between([source(law, (run, 0, 0), "w", SHORT) for run in range(24)])


CHECKS = {
    "gaussian": (moments, tails, cells, distribution, lags, neighbours, bits, tensors, steps, directions, runs),
    "rademacher": (moments, tails, cells, lags, bits, tensors, steps, directions, runs),
}


@pytest.mark.parametrize(("law", "check"), [(law, check) for law in LAWS for check in CHECKS[law]])
def test_the_noise_stays_within_the_band(law: Law, check: Callable[[Source, Law], float]) -> None:
    assert check(sound, law) < BAND


# Faults. Each is what a slip in the code would do.


def one_seed_for_all_tensors(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return sound(law, direction, "w", count)


def the_step_is_no_part_of_the_key(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return sound(law, (direction[0], 0, direction[2]), tensor, count)


def seeds_are_sums(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return draw(law, sum(direction), tensor, 0, count).numpy().astype(np.float64)


def the_run_is_no_part_of_the_key(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return sound(law, (0, *direction[1:]), tensor, count)


def directions_are_shifts(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    """The direction moves the place in one stream instead of choosing a stream."""
    shift = 64 * direction[2]
    return sound(law, (*direction[:2], 0), tensor, count + shift)[shift:]


def chunks_start_anew(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return np.resize(sound(law, direction, tensor, 4096), count)


def every_number_twice(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return np.repeat(sound(law, direction, tensor, count // 2), 2)


def _from_words(made: np.ndarray, law: Law) -> np.ndarray:
    index = cut(made, 16)
    return values("gaussian")[index] if law == "gaussian" else np.unpackbits(cut(made, 8), bitorder="little") * 2.0 - 1


def words_are_not_mixed(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    counter = np.arange(count // 4 if law == "gaussian" else count // 64, dtype=np.uint64)
    return _from_words(counter * np.uint64(0x9E3779B97F4A7C15), law)


def indices_overlap(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    """The four indices are cut 8 bits apart instead of 16."""
    made = words(1, 0, count // 4)
    index = (made[:, None] >> np.array([0, 8, 16, 24], dtype=np.uint64)) & np.uint64(0xFFFF)
    return values(law)[index.astype(np.int64).ravel()]


def the_lowest_bit_is_lost(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return values(law)[cut(words(1, 0, count // 4), 16) & 0xFFFE]


def one_bit_is_stuck(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return _from_words(words(1, 0, count // 64) | np.uint64(1 << 63), law)


def tails_are_clipped(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return sound(law, direction, tensor, count).clip(-3, 3)


def the_table_is_not_scaled(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return sound(law, direction, tensor, count) * 1.02


def uniform_of_the_same_variance(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return (cut(words(1, 0, count // 4), 16) / 65536 - 0.5) * np.sqrt(12)


def signs_lean(law: Law, direction: tuple[int, int, int], tensor: str, count: int) -> np.ndarray:
    return np.where(cut(words(1, 0, count // 4), 16) < 0.52 * 65536, 1.0, -1.0)


FAULTS: list[tuple[Law, Source, Callable[[Source, Law], float]]] = [
    ("gaussian", the_table_is_not_scaled, moments),
    ("gaussian", tails_are_clipped, tails),
    ("gaussian", the_lowest_bit_is_lost, cells),
    ("gaussian", uniform_of_the_same_variance, distribution),
    ("gaussian", chunks_start_anew, lags),
    ("gaussian", words_are_not_mixed, lags),
    ("gaussian", every_number_twice, neighbours),
    ("gaussian", indices_overlap, bits),
    ("rademacher", signs_lean, moments),
    ("rademacher", signs_lean, tails),
    ("rademacher", signs_lean, cells),
    ("rademacher", every_number_twice, lags),
    ("rademacher", one_bit_is_stuck, bits),
    ("rademacher", words_are_not_mixed, lags),
] + [
    (law, fault, check)
    for law in LAWS
    for fault, check in (
        (one_seed_for_all_tensors, tensors),
        (the_step_is_no_part_of_the_key, steps),
        (seeds_are_sums, directions),
        (directions_are_shifts, directions),
        (the_run_is_no_part_of_the_key, runs),
    )
]


@pytest.mark.parametrize(("law", "fault", "check"), FAULTS)
def test_the_fault_is_certain_to_show(law: Law, fault: Source, check: Callable[[Source, Law], float]) -> None:
    assert check(fault, law) > CERTAIN


def test_every_check_has_a_fault_that_it_catches() -> None:
    caught = {(law, check) for law, _, check in FAULTS}
    assert caught == {(law, check) for law in LAWS for check in CHECKS[law]}
