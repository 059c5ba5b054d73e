"""The side process: what becomes of a comparison that hangs, dies or raises, and of the next one."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest

from esagent.agents.react import ReactAgent
from esagent.rollout import UnscoredError, rollout, unscored_tasks
from esagent.tasks.math import MathFamily, checker
from esagent.tasks.math.checker import Checker, CheckerError
from tests.agents.scripted import ScriptedBackend

BAD = """
import json, os, signal, sys, time
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    given, gold = json.loads(line)
    if given == "hang":
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        time.sleep(600)
    if given == "die":
        os._exit(3)
    print(json.dumps([None, "ValueError: no"] if given == "raise" else [given == gold, ""]), flush=True)
"""


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side process that does what it is told in the place of math-verify, whose own hangs differ by version."""
    (tmp_path / "bad.py").write_text(BAD)
    monkeypatch.setattr(checker, "WORKER", tmp_path / "bad.py")


@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize(
    ("given", "why"), [("hang", "no result within 0.3 s"), ("die", "exit code 3"), ("raise", "ValueError: no")]
)
def test_a_comparison_that_fails_says_so_and_the_next_one_works(given: str, why: str) -> None:
    asked = Checker(0.3)
    assert asked.equal("1", "1")
    before = asked._worker
    assert before is not None
    started = time.monotonic()
    with pytest.raises(CheckerError, match=why):
        asked.equal(given, "1")
    assert time.monotonic() - started < 3
    assert not asked.equal("2", "1")
    if given != "raise":
        assert before.returncode is not None, "the old process is gone, and waited for"
    asked.close()


@pytest.mark.usefixtures("bad")
def test_it_ends_with_its_owner() -> None:
    asked = Checker(5)
    assert asked.equal("1", "1")
    worker = asked._worker
    assert worker is not None
    del asked
    assert worker.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


@pytest.mark.usefixtures("bad")
def test_a_result_is_asked_for_once_and_no_process_travels_in_a_pickle() -> None:
    asked = Checker(5)
    assert asked.equal("1", "1")
    asked.close()
    assert asked.equal("1", "1")
    assert asked._worker is None
    assert pickle.loads(pickle.dumps(asked)).seconds == 5


def test_a_process_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checker, "WORKER", tmp_path / "missing.py")
    with pytest.raises(CheckerError, match="does not start"):
        Checker(5).equal("1", "1")


@pytest.mark.usefixtures("bad")
def test_an_answer_that_could_not_be_compared_is_unscored() -> None:
    family = MathFamily(seconds=0.2)
    tasks = family.tasks("train", 0, 2)
    said = {tasks[0].prompt: r" Answer: \boxed{\sqrt{2}}"}
    backend = ScriptedBackend(
        lambda request: next((text for p, text in said.items() if p in request.prompt), " Answer: 1")
    )
    family._checker.equal = _hanging  # type: ignore[method-assign]
    episodes = rollout(ReactAgent(), family, backend, (), tasks)
    assert [episode.score.unscored for episode in episodes] == [True, False]
    assert "CheckerError" in episodes[0].score.reason
    with pytest.raises(UnscoredError, match="could not be scored"):
        unscored_tasks(episodes)


def _hanging(given: str, gold: str) -> bool:
    return Checker(0.2).equal("hang", gold)
