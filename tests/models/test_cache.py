"""The cache of made folders: one builder, whole or nothing, damage found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from esagent.errors import EnvironmentFailure
from esagent.models.cache import build_once, cache_root, intact


def fill(folder: Path) -> None:
    (folder / "weights").write_bytes(b"\x01" * 4096)
    (folder / "deep").mkdir()
    (folder / "deep" / "config").write_text("{}")


def refuse(folder: Path) -> None:
    raise AssertionError("an intact folder was built again")


def test_builds_once_and_then_returns_what_is_there(tmp_path: Path) -> None:
    target = build_once(tmp_path / "model", fill)
    assert (target / "weights").read_bytes() == b"\x01" * 4096
    assert build_once(target, refuse) == target


@pytest.mark.parametrize("harm", ["flip", "truncate", "remove", "manifest"])
def test_a_damaged_folder_is_found_and_made_again(tmp_path: Path, harm: str) -> None:
    target = build_once(tmp_path / "model", fill)
    weights = target / "weights"
    if harm == "flip":
        weights.write_bytes(b"\x01" * 4095 + b"\x00")  # same size: only the content tells
    elif harm == "truncate":
        weights.write_bytes(b"\x01")
    elif harm == "remove":
        (target / "deep" / "config").unlink()
    else:
        (target / "manifest.json").write_text('["no", "mapping"]')
    assert not intact(target)
    build_once(target, fill)
    assert intact(target)
    assert weights.read_bytes() == b"\x01" * 4096


def test_a_failing_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        build_once(tmp_path / "model", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["model.lock"]


SLOW_BUILD = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    from esagent.models.cache import build_once

    target, log = Path(sys.argv[1]), Path(sys.argv[2])

    def build(folder):
        with log.open("a") as stream:
            stream.write(f"{os.getpid()}\\n")
        (folder / "part").write_text("half")
        time.sleep(float(sys.argv[3]))
        (folder / "part").write_text("whole")

    print((build_once(target, build) / "part").read_text())
    """
)


def start(target: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW_BUILD, str(target), str(log), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_start_together_build_once(tmp_path: Path) -> None:
    target, log = tmp_path / "model", tmp_path / "log"
    children = [start(target, log, 0.5) for _ in range(3)]
    assert [child.communicate(timeout=60)[0] for child in children] == ["whole\n"] * 3
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.kill
def test_a_killed_builder_leaves_no_half_made_folder_and_no_litter(tmp_path: Path) -> None:
    target, log = tmp_path / "model", tmp_path / "log"
    child = start(target, log, 600)
    deadline = time.monotonic() + 60
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert not target.exists()
    assert len(list(tmp_path.glob(".model.*"))) == 1  # the dead builder's attempt
    build_once(target, fill)
    assert intact(target)
    assert not list(tmp_path.glob(".model.*"))


def test_root_follows_the_environment_and_says_how_to_move_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESAGENT_CACHE", str(tmp_path / "here"))
    assert cache_root() == tmp_path / "here"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ESAGENT_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(EnvironmentFailure, match="set ESAGENT_CACHE"):
        cache_root()
