"""The noise bit by bit: against pure Python integers, on both code paths, for any split, thread count and type."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from esagent.core import laws
from esagent.core.laws import LAWS, Law, by_numpy, by_torch
from esagent.core.noise import add_noise, draw, key, parts
from esagent.core.parallel import for_each
from esagent.core.words import LONGEST, cut, words, words_on

CHUNK = 4 * LONGEST  # elements
CPU = torch.device("cpu")
SEEDS = st.integers(0, (1 << 64) - 1)
STARTS = st.integers(0, 1 << 40) | st.integers(CHUNK - 70, CHUNK + 70)


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    """The definition that the documentation gives: Python integers and the normal quantiles of the standard library."""
    page = (Path(__file__).parents[2] / "docs" / "noise.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(code, names)
    return names


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, start=STARTS, law=st.sampled_from(LAWS), tensor=st.text(max_size=8))
@example(seed=(1 << 64) - 1, start=(1 << 63) - 70, law="gaussian", tensor="")
def test_the_noise_is_that_of_the_documentation(
    reference: dict[str, Any], seed: int, start: int, law: Law, tensor: str
) -> None:
    expected = torch.tensor([reference[law](seed, tensor, start + i) for i in range(67)])
    assert torch.equal(draw(law, seed, tensor, start, 67), expected)


def test_keys_and_words_are_those_of_the_documentation(reference: dict[str, Any]) -> None:
    assert key("a", 1) == reference["key"]("a", 1)
    for stream, start in itertools.product((0, 1, 1 << 63, (1 << 64) - 1), (0, 5, LONGEST - 1, 1 << 40)):
        expected = [reference["word"](stream, start + i) for i in range(9)]
        assert words(stream, start, 9).tolist() == expected
        assert [word % 2**64 for word in words_on(CPU, stream, start, 9).tolist()] == expected


def test_every_quantile_is_that_of_the_documentation_and_safe_from_rounding(reference: dict[str, Any]) -> None:
    """No quantile lies so near the middle of two fp32 numbers that another fp64 library could round it otherwise."""
    exact = np.array(reference["QUANTILES"]) / reference["SPREAD"]
    table = laws._table("gaussian", "float32").ravel()
    assert (table == exact.astype(np.float32)).all()
    assert (table == -table[::-1]).all()
    middles = [(table.astype(np.float64) + np.nextafter(table, np.float32(side))) / 2 for side in (-9, 9)]
    assert min(np.abs(exact / middle - 1).min() for middle in middles) > 2.0**-46


def test_indices_are_cut_lowest_bits_first() -> None:
    made = np.array([0x8877665544332211, 0xFFFF000000000001], dtype=np.uint64)
    assert cut(made, 16).tolist() == [0x2211, 0x4433, 0x6655, 0x8877, 1, 0, 0, 0xFFFF]
    assert cut(made, 8).tolist()[:8] == [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]
    assert cut(made.astype(">u8"), 16).tolist() == cut(made, 16).tolist()


@settings(max_examples=60, deadline=None)
@given(
    law=st.sampled_from(LAWS),
    seed=SEEDS,
    start=STARTS,
    cuts=st.lists(st.integers(0, 400), max_size=4),
)
def test_any_split_gives_the_same_numbers(law: Law, seed: int, start: int, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), 400]
    pieces = [draw(law, seed, "t", start + a, b - a) for a, b in itertools.pairwise(edges)]
    assert torch.equal(torch.cat(pieces), draw(law, seed, "t", start, 400))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("start", [0, 1, 2, 3, CHUNK - 1])
def test_long_ranges_consist_of_their_parts(law: Law, start: int) -> None:
    count = 3 * CHUNK + 5
    whole = draw(law, 3, "t", start, count)
    for low in (0, 1, 63, 2 * CHUNK - start % CHUNK - 3, 2 * CHUNK, count - 7):
        assert torch.equal(whole[low : low + 7], draw(law, 3, "t", start + low, 7))


def terms(count: int, dense: bool) -> list[tuple[int, float | Tensor]]:
    weights = [0.37, -1.5e-3, 0.0, 2.0]
    if dense:
        return [(i, torch.linspace(-w, 1, count)) for i, w in enumerate(weights)]
    return list(enumerate(weights))


@settings(max_examples=40, deadline=None)
@given(
    law=st.sampled_from(LAWS),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    start=STARTS,
    count=st.integers(0, 300) | st.integers(CHUNK - 2, CHUNK + 2),
    dense=st.booleans(),
)
def test_numpy_and_torch_do_the_same(law: Law, dtype: torch.dtype, start: int, count: int, dense: bool) -> None:
    """The second path is that of all devices but the CPU; here it runs on the CPU, operation by operation."""
    base = torch.linspace(-3, 5, count, dtype=dtype)
    one, other = torch.empty_like(base), torch.empty_like(base)
    by_numpy(base, one, law, start, terms(count, dense))
    by_torch(base, other, law, start, terms(count, dense))
    assert torch.equal(one, other)
    by_torch(base, base, law, start, terms(count, dense))
    assert torch.equal(one, base)
    rounded = [torch.empty(count, dtype=torch.bfloat16) for _ in range(2)]
    for add, out in zip((by_numpy, by_torch), rounded, strict=True):
        add(one, out, law, start, terms(count, dense))
    assert torch.equal(rounded[0], rounded[1])
    by_numpy(one, one, law, start, terms(count, dense))
    assert torch.equal(rounded[0], one.bfloat16())


@pytest.mark.parametrize("law", LAWS)
def test_the_torch_path_is_chunked_too(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "_DEVICE_CHUNK", 1000)
    base, one, other = torch.ones(4321), torch.zeros(4321), torch.zeros(4321)
    by_numpy(base, one, law, 11, terms(4321, True))
    by_torch(base, other, law, 11, terms(4321, True))
    assert torch.equal(one, other)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("law", LAWS)
def test_sums_are_taken_term_after_term(law: Law, dtype: torch.dtype, dense: bool) -> None:
    count = CHUNK + 9
    expected = torch.linspace(-3, 5, count, dtype=dtype)
    base = expected.clone()
    for seed, weight in terms(count, dense):
        noise = draw(law, seed, "t", 6, count).to(dtype)
        expected = expected + noise * (weight.to(dtype) if isinstance(weight, Tensor) else weight)
    assert torch.equal(add_noise(base, law, "t", 6, terms(count, dense)), expected)
    assert torch.equal(base, torch.linspace(-3, 5, count, dtype=dtype))
    assert add_noise(base, law, "t", 6, terms(count, dense), out=base) is base
    assert torch.equal(base, expected)


@pytest.mark.parametrize("law", LAWS)
def test_threads_do_not_change_the_numbers(law: Law) -> None:
    before = torch.get_num_threads()
    made = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            made.append(add_noise(torch.ones(7 * CHUNK), law, "t", 5, terms(7 * CHUNK, False)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made[0], made[1])
    assert torch.equal(made[0], made[2])


def test_every_piece_of_work_is_done_once_and_failures_come_out() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        done: list[int] = []
        for_each(done.append, range(1000))
        assert sorted(done) == list(range(1000))
        with pytest.raises(ZeroDivisionError):
            for_each(lambda i: 1 // (i - 500), range(1000))
        for_each(done.append, [])
    finally:
        torch.set_num_threads(before)


def test_threads_start_anew_after_a_fork() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        expected, out = draw("gaussian", 1, "t", 0, 4 * CHUNK).numpy(), torch.zeros(4 * CHUNK)
        child = os.fork()
        if child == 0:  # nothing here may use torch's own threads, which do not survive either
            add_noise(out, "gaussian", "t", 0, [(1, 1.0)], out=out)
            os._exit(0 if (out.numpy() == expected).all() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        torch.set_num_threads(before)


_GROWTH = """
import torch
from esagent.core.noise import add_noise, draw
from tests.helpers.memory import peak_growth

torch.set_num_threads(2)
out, half = torch.ones(1 << 24), torch.ones(1 << 24, dtype=torch.bfloat16)
for target in (out, half):
    print(peak_growth(lambda t=target: add_noise(out, LAW, "t", 0, [(1, 0.5), (2, 0.25)], out=t)))
print(peak_growth(lambda: out.add_(draw(LAW, 1, "t", 0, len(out)))))
"""


@pytest.mark.parametrize("law", LAWS)
def test_no_temporary_grows_with_the_tensor(law: Law) -> None:
    """In a process of its own, which keeps no memory that was freed. The measure sees one: it shows a full-size one."""
    done = subprocess.run(
        [sys.executable, "-c", _GROWTH.replace("LAW", repr(law))],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    *growths, seen = map(int, done.stdout.split())
    assert max(growths) < 6 << 20
    assert seen > 0.9 * 4 * (1 << 24)


@pytest.mark.parametrize("bad", [torch.zeros(4, 4), torch.zeros(4, dtype=torch.bfloat16)])
def test_what_noise_cannot_be_added_to_is_refused(bad: Tensor) -> None:
    with pytest.raises(ValueError, match="float32 or float64"):
        add_noise(bad, "gaussian", "t", 0, [(1, 1.0)])


@pytest.mark.parametrize("bad", [torch.zeros(5), torch.zeros(8)[::2], torch.zeros(4, dtype=torch.int32)])
def test_what_noise_cannot_be_written_to_is_refused(bad: Tensor) -> None:
    with pytest.raises(ValueError, match="out must be"):
        add_noise(torch.zeros(4), "gaussian", "t", 0, [(1, 1.0)], out=bad)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, start=STARTS, k=st.integers(2, 1024))
def test_parts_are_those_of_the_words(reference: dict[str, Any], seed: int, start: int, k: int) -> None:
    stream = reference["key"]("part", seed, "t")
    halves = [(reference["word"](stream, i // 4) >> 16 * (i % 4)) & 0xFFFF for i in range(start, start + 9)]
    assert parts(seed, "t", start, 9, k).tolist() == [half * k >> 16 for half in halves]


def test_noise_leaves_global_random_state_alone() -> None:
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    work: list[Callable[[], object]] = [lambda: draw("gaussian", 1, "t", 0, 100), lambda: words(1, 0, 100)]
    for item in work:
        item()
    assert torch.equal(torch_state, torch.get_rng_state())
    assert (numpy_state == np.random.get_state()[1]).all()
