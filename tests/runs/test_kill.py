"""Real processes really killed (SIGKILL) at named moments; the continued run must end like an undisturbed one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import esagent.runs.atomic as atomic
from esagent.runs.directory import RunDirectory, create_run
from esagent.runs.journal import Journal, read_journal
from esagent.runs.snapshots import list_snapshots
from tests.runs.limited import context
from tests.runs.steps import STEPS, work
from tests.runs.vector_backend import VectorBackend

pytestmark = pytest.mark.kill


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _on_call(owner: Any, name: str, count: int, before: Callable[..., None], after: Callable[..., None]) -> None:
    """From now on the `count`-th call of `owner.name` is wrapped in `before` and `after`."""
    original, calls = getattr(owner, name), [0]

    def wrapped(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == count:
            before(*arguments)
        result = original(*arguments)
        if calls[0] == count:
            after(*arguments)
        return result

    setattr(owner, name, wrapped)


def _nothing(*arguments: Any) -> None:
    pass


def _kill(*arguments: Any) -> None:
    _die()


def _half_a_line(journal: Journal, record: Any) -> None:
    """Write part of what append would, as a kill within the write leaves it."""
    os.write(journal._file.fileno(), b'{"checksum":"5f1c","digest":"00"')
    _die()


def _half_a_file(backend: VectorBackend, path: Path) -> None:
    path.write_bytes(b"\x40\0\0\0\0\0\0\0{")
    _die()


# Journal.append is called once a step; VectorBackend.save, os.replace (twice) and sync_folder once per written file.
MOMENTS: dict[str, tuple[Any, str, int, Callable[..., None], Callable[..., None], int]] = {
    "before an append": (Journal, "append", 4, _kill, _nothing, 3),
    "within an append": (Journal, "append", 4, _half_a_line, _nothing, 3),
    "after an append": (Journal, "append", 4, _nothing, _kill, 4),
    "within a snapshot": (VectorBackend, "save", 2, _half_a_file, _nothing, 4),
    "between a snapshot's sync and its rename": (atomic.os, "replace", 3, _kill, _nothing, 4),
    "between a snapshot's rename and the folder's sync": (atomic.os, "replace", 3, _nothing, _kill, 4),
    "between a snapshot and its note": (atomic.os, "replace", 4, _kill, _nothing, 4),
}


def _victim(run: RunDirectory, moment: str) -> None:
    owner, name, count, before, after, _ = MOMENTS[moment]
    _on_call(owner, name, count, before, after)
    work(run)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return work(create_run(tmp_path_factory.mktemp("undisturbed"), "a", 0, ""))


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_and_continued(run: RunDirectory, undisturbed: str, moment: str) -> None:
    child = context().Process(target=_victim, args=(run, moment))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert len(read_journal(run.journal)) == MOMENTS[moment][-1], "the kill came at another moment than named"
    assert [s.step for s in list_snapshots(run.snapshots)] == [2], "no unfinished snapshot may count"
    assert work(run) == undisturbed
    assert len(read_journal(run.journal)) == STEPS
    snapshots = list_snapshots(run.snapshots)
    assert [s.damage() for s in snapshots] == ["", ""]
    assert snapshots[-1].step == STEPS
    assert not list(run.path.rglob(".tmp-*"))


def test_killed_over_and_over(run: RunDirectory, undisturbed: str) -> None:
    for _ in range(STEPS):
        child = context().Process(target=_second_append_is_the_last, args=(run,))
        child.start()
        child.join(60)
        assert child.exitcode in (0, -signal.SIGKILL)
    assert work(run) == undisturbed


def _second_append_is_the_last(run: RunDirectory) -> None:
    _on_call(Journal, "append", 2, _half_a_line, _nothing)
    work(run)
