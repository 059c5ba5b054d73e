"""What becomes of workers: real processes that are really killed, stopped, or led astray, in the middle of a step."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("ray", reason="backend=ray needs Ray")

import ray

from esagent.backends.base import Applied
from esagent.backends.ray.asking import Asking
from esagent.backends.ray.backend import RayBackend
from esagent.backends.ray.newcomer import Handle
from esagent.backends.ray.wire import Parcel, pack
from esagent.backends.registry import make_backend
from esagent.core.episode import Request
from esagent.core.population import Update, UpdateTerm
from esagent.errors import RunError
from tests.helpers.tiny import make_tiny_folder
from tests.ray.processes import reused as reused
from tests.ray.small import alone, config, events, spread, story

pytestmark = pytest.mark.engine

Deed = Callable[[Handle], None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_folder(tmp_path_factory.mktemp("model") / "tiny")


# With two workers a run asks 8 times for its evaluations at the start, then 4 times a step; with three 12 and 6 times.


@pytest.fixture(scope="module")
def undisturbed(model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return story(alone(model, tmp_path_factory.mktemp("undisturbed"), "bias"))


def pid(handle: Handle) -> int:
    assert handle.ready is not None
    return handle.ready.pid


def kill(handle: Handle) -> None:
    """Stopped before it is asked and killed when it has been: it dies with the question unanswered, for certain."""
    os.kill(pid(handle), signal.SIGKILL)


def hang(handle: Handle) -> None:
    """It stays stopped."""


class Disturbed:
    """From now on the calls of `method` with these numbers (from 0, over all workers) meet a worker that is stopped
    before and to which `deed` is done after. `hit` are the workers in that order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, numbers: set[int], deed: Deed) -> None:
        self.hit: list[int] = []
        called = [0]
        original = Handle.call

        def call(handle: Handle, name: str, *arguments: Any) -> Any:
            if name != method:
                return original(handle, name, *arguments)
            chosen, called[0] = called[0] in numbers, called[0] + 1
            if not chosen:
                return original(handle, name, *arguments)
            os.kill(pid(handle), signal.SIGSTOP)
            reference = original(handle, name, *arguments)
            self.hit.append(pid(handle))
            deed(handle)
            return reference

        monkeypatch.setattr(Handle, "call", call)


def wait_for_newcomers(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Updates wait until there are `workers` again, as they would come along in a longer run."""
    original = RayBackend.apply

    def apply(backend: RayBackend, update: Update) -> Applied:
        patience = time.monotonic() + 60
        while len(backend.pool.workers) < workers and time.monotonic() < patience:
            backend.pool.welcome()
            time.sleep(0.05)
        return original(backend, update)

    monkeypatch.setattr(RayBackend, "apply", apply)


def gone(process: int) -> bool:
    return not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE


def test_a_worker_killed_in_the_middle_of_a_step(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was asked is asked again of the other one, and counts once."""
    expected = alone(model, tmp_path / "alone", "bias")
    disturbed = Disturbed(monkeypatch, "generate", {9}, kill)
    told = spread(model, tmp_path / "two", "bias", 2)
    assert story(told) == undisturbed
    assert [gone(process) for process in disturbed.hit] == [True]
    assert [event["why"] for event in events(told, "lost")] == ["it died (ActorDiedError)"]
    assert [r["cost"]["requests"] for r in told] == [r["cost"]["requests"] for r in expected]
    assert [r["cost"]["completion_tokens"] for r in told] == [r["cost"]["completion_tokens"] for r in expected]


def test_a_replacement_that_joins_late_and_is_killed_in_its_turn(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice a worker is killed; twice another one makes the moves of the search and answers."""
    disturbed = Disturbed(monkeypatch, "generate", {9, 17}, kill)
    wait_for_newcomers(monkeypatch, 2)
    told = spread(model, tmp_path / "two", "bias", 2, "budget.snapshot_every=100")
    assert story(told) == undisturbed
    assert len(set(disturbed.hit)) == len(events(told, "lost")) == 2
    assert [event["replayed"] for event in events(told, "joined")] == [0, 2]
    assert [r["workers"]["workers"] for r in told] == [2, 2, 2]
    assert told[2]["workers"]["replay_bytes"] > 0


def test_two_workers_killed_with_the_same_requests_one_after_the_other(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = Disturbed(monkeypatch, "generate", {13, 15}, kill)
    told = spread(model, tmp_path / "three", "bias", 3)
    assert story(told) == undisturbed
    assert len(set(disturbed.hit)) == len(events(told, "lost")) == 2


def test_a_worker_killed_while_it_makes_an_update(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Disturbed(monkeypatch, "apply", {2}, kill)
    told = spread(model, tmp_path / "two", "bias", 2)
    assert story(told) == undisturbed
    assert len(events(told, "lost")) == 1


def test_a_worker_that_hangs_is_killed_after_the_time_limit(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = Disturbed(monkeypatch, "generate", {9}, hang)
    told = spread(model, tmp_path / "two", "bias", 2, "backend.time_limit=15")
    assert story(told) == undisturbed
    assert [event["why"] for event in events(told, "lost")] == ["no answer within backend.time_limit=15 seconds"]
    assert [gone(process) for process in disturbed.hit] == [True]


def test_no_more_workers_are_replaced_than_there_are_spares(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Disturbed(monkeypatch, "generate", {9}, kill)
    told = spread(model, tmp_path / "two", "bias", 2, "backend.spares=0")
    assert story(told) == undisturbed
    assert [event["event"] for event in events(told)] == ["lost", "not replaced"]
    assert told[-1]["workers"]["workers"] == 1


def test_the_run_ends_when_no_worker_is_left(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disturbed(monkeypatch, "generate", {8, 9}, kill)
    with pytest.raises(RunError, match=r"no worker is left .*it died.*resume"):
        spread(model, tmp_path / "two", "bias", 2)


def test_requests_that_worker_after_worker_dies_of_end_the_run(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = ["backend=ray", "backend.workers=4", "backend.threads=1", "backend.spares=0"]
    backend = make_backend(config(model, tmp_path, "bias", *pool), ("planner", "caller"))
    Disturbed(monkeypatch, "generate", {0, 1, 2}, kill)
    with pytest.raises(RunError, match=r"3 workers failed on the same requests.*it died"):
        backend.generate([Request("planner", "one request")], ())


class Astray:
    """Before update `number` (from 0) workers with these places make one of their own, which nobody asked them for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, places: list[int]) -> None:
        moved = [0]
        original = Asking.moved

        def before(asking: Asking) -> None:
            if moved[0] == number:
                for place in places:
                    handle = asking._pool.workers[place]
                    blocks = {block.name: 0.1 for block in asking._pool.ready.blocks}
                    own = Update(99, (UpdateTerm(7 + place, blocks),), blocks)
                    ray.get(handle.actor.apply.remote(Parcel(pack(own))))
            moved[0] += 1
            original(asking)

        monkeypatch.setattr(Asking, "moved", before)


def test_a_worker_whose_state_differs_is_replaced(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Astray(monkeypatch, 1, [0])
    told = spread(model, tmp_path / "three", "bias", 3)
    assert story(told) == undisturbed
    (lost,) = events(told, "lost")
    assert "its digest is" in lost["why"]
    assert told[1]["digest"] in lost["why"]


@pytest.mark.parametrize("place", [0, 1])
def test_of_two_that_differ_a_third_one_says_who_is_right(
    model: Path, tmp_path: Path, undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    Astray(monkeypatch, 1, [place])
    told = spread(model, tmp_path / "two", "bias", 2)
    assert story(told) == undisturbed
    assert len(events(told, "joined")) >= 1


def test_workers_of_which_no_two_agree_end_the_run(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Astray(monkeypatch, 1, [0, 1])
    with pytest.raises(RunError, match="do not agree"):
        spread(model, tmp_path / "two", "bias", 2)
