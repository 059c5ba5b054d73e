"""Before there is a run, a scheduler's signal ends the process at once; afterwards a marker says that it came."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from esagent.stopping import stopping

CODE = """
import os, signal
from esagent.stopping import leave_when_told
leave_when_told()
try:
    os.kill(os.getpid(), signal.{name})
except Exception:
    print("swallowed")
print("went on")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR2"])
def test_nothing_to_save_leaves_at_once(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE.format(name=name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == f"esagent: stopped by {name}; the same command starts again\n"


@pytest.mark.parametrize("where", ["", "class F:\n    def __init__(self):\n        "])
def test_a_module_of_a_user_that_is_loading_is_left_too(where: str, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(f"import os, signal\n{where}os.kill(os.getpid(), signal.SIGTERM)\n")
    code = (
        "from esagent.config.target import build_target; from esagent.stopping import leave_when_told\n"
        "leave_when_told(); build_target('task.target', 'slow:F', {})"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == "esagent: stopped by SIGTERM; the same command starts again\n"


@pytest.mark.parametrize(("number", "left"), [(signal.SIGTERM, True), (signal.SIGUSR2, True), (signal.SIGINT, False)])
def test_the_marker_is_of_schedulers_and_of_the_last_time(number: int, left: bool, tmp_path: Path) -> None:
    marker = tmp_path / "preempted"
    marker.touch()
    with stopping("", marker) as stop:
        assert not marker.exists()
        os.kill(os.getpid(), number)
        assert stop.received == number
    assert marker.exists() == left


def test_a_marker_that_cannot_be_made_is_no_crash(tmp_path: Path) -> None:
    with stopping("", tmp_path / "gone" / "preempted") as stop:
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.received == signal.SIGTERM
