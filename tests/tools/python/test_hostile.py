"""The hostile corpus against every kind of sandbox that is installed here."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from esagent.tools.python import Limits, PythonSandbox, make_sandbox
from tests.tools.python.corpus import CORPUS, NAMED, Hostile
from tests.tools.python.installed import walled

PATIENT = Limits(seconds=4, memory_mb=64, output_chars=2000, processes=8, disk_mb=4)
QUICK = Limits(seconds=0.2, memory_mb=64, output_chars=2000, processes=8, disk_mb=4)

Pair = tuple[PythonSandbox, PythonSandbox]


@pytest.fixture(scope="module", params=walled())
def sandboxes(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """One for programs that last until the limit, and one whose limit a loaded machine does not reach by itself."""
    pair = make_sandbox(request.param, QUICK), make_sandbox(request.param, PATIENT)
    yield pair
    for sandbox in pair:
        sandbox.close()


def test_the_corpus_is_what_it_says() -> None:
    assert len(CORPUS) >= 60
    assert len({(program.group, program.name) for program in CORPUS}) == len(CORPUS)
    for program in CORPUS:
        for kind in ("monty", "bwrap"):
            assert program.allowed(kind) <= {*NAMED, ""}


def test_the_page_counts_them() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+) \| ([^|]*) \| ([^|]*) \|$", page, re.MULTILINE)
    groups = Counter(program.group for program in CORPUS)
    assert {group: int(count) for group, count, *_ in rows} == groups
    assert f"{len(CORPUS)} programs" in page
    for _, count, *columns in rows:
        for column in columns:
            assert sum(int(number) for number in re.findall(r"\d+", column)) == int(count)


@pytest.mark.parametrize("program", CORPUS, ids=lambda p: f"{p.group}: {p.name}")
def test_contained(sandboxes: Pair, program: Hostile) -> None:
    sandbox, limits = (sandboxes[0], QUICK) if program.endless else (sandboxes[1], PATIENT)
    if sandbox.name == "unsafe" and not program.unsafe:
        pytest.skip("it would reach this machine: there are no walls")
    start = time.monotonic()
    outcome = sandbox.run(program.code)
    seconds = time.monotonic() - start
    assert seconds < limits.seconds + 1
    assert outcome.reason in program.allowed(sandbox.name), outcome
    assert outcome.ok == (not outcome.reason)
    assert len(outcome.output) <= limits.output_chars + 320
    assert outcome.ok or outcome.output.strip()
    assert "ended the process that ran it" not in outcome.output
    assert not [word for word in program.secret if word in outcome.output]

    start = time.monotonic()
    after = sandbox.run("print(6 * 7)")
    assert (after.ok, after.output, after.reason) == (True, "42\n", "")
    assert time.monotonic() - start < 1
