import os
import signal
from pathlib import Path
from typing import Any

import pytest

from esagent.errors import RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.lock import locked
from tests.runs.limited import context


def _hold(run: RunDirectory, ready: Any) -> None:
    with locked(run):
        ready.set()
        signal.pause()


def test_a_second_holder_is_refused_until_the_first_is_killed(run: RunDirectory) -> None:
    ready = context().Event()
    child = context().Process(target=_hold, args=(run, ready))
    child.start()
    assert ready.wait(30)
    (run.snapshots / ".tmp-1-step-000002.safetensors").write_text("half")
    with (
        pytest.raises(RunError, match=f"{run.path} is in use by process {child.pid} on .*; wait") as caught,
        locked(run),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert len(list(run.snapshots.iterdir())) == 1, "a refused process must not clear up"
    os.kill(child.pid, signal.SIGKILL)
    child.join(30)
    with locked(run):
        assert list(run.snapshots.iterdir()) == []


def test_a_lock_file_that_is_deleted_or_damaged_lets_nobody_in(run: RunDirectory) -> None:
    ready = context().Event()
    child = context().Process(target=_hold, args=(run, ready))
    child.start()
    assert ready.wait(30)
    for damage in (lambda: run.lock.write_bytes(b"\xff\0"), run.lock.unlink):
        damage()
        with pytest.raises(RunError, match=f"in use by process {child.pid} on"), locked(run):
            pass
    for content, shown in ((b"\xff\0\x1b[2J", "another process"), (b"", "another process"), (b"a\nb", "a b")):
        run.lock.with_suffix(".holder").write_bytes(content)
        with pytest.raises(RunError, match=f"in use by {shown}; wait"), locked(run):
            pass
    child.kill()
    child.join(30)
    with locked(run):
        pass


def test_released_after_an_error_and_not_twice_in_one_process(run: RunDirectory) -> None:
    def fail() -> None:
        with pytest.raises(RunError, match="in use"), locked(run):
            pass
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), locked(run):
        fail()
    with locked(run):
        pass
    assert not list(run.path.glob("*.holder"))


def test_a_run_can_be_discarded_while_held(run: RunDirectory, tmp_path: Path) -> None:
    with locked(run):
        run.discard()
    assert list(tmp_path.iterdir()) == []
