"""`esagent --help` is quick, because it loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import Run

HEAVY = ("torch", "transformers", "hydra", "omegaconf", "numpy", "scipy", "matplotlib", "vllm", "ray")


@pytest.mark.parametrize("command", ["train", "sweep", "stats", "doctor"])
def test_the_command_line_loads_nothing_heavy(command: str) -> None:
    code = (
        f"import json, sys\nsys.argv = ['esagent', {command!r}, '--help']\nimport esagent.cli.main as m\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr) == []


def test_help_is_quick_and_names_the_commands(esagent: Run) -> None:
    start = time.monotonic()
    done = esagent("--help")
    assert time.monotonic() - start < 2.0  # 0.1 s on an idle machine; the limit leaves room for a busy one
    assert done.returncode == 0
    assert done.stderr == ""
    commands = ("train", "resume", "eval", "sweep", "stats", "ls", "show", "export", "doctor")
    assert all(f"  {command} " in done.stdout for command in commands)


def test_version(esagent: Run) -> None:
    assert esagent("--version").stdout.startswith("esagent ")
