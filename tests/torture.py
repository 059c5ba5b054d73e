"""The default job with the real model, killed (SIGKILL) over and over and resumed: the end of `make torture`.

It runs once undisturbed, and once with a kill after every stretch of random length until it is done. Both must end with
the same digest, rewards and evaluations. In fp32: there a completion does not hang on what a process decoded before.
Prints one JSON object; the exit code is 1 when anything differs.

    python -m tests.torture [OVERRIDES]      settings of both runs, as for `esagent train`
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from esagent.core.noise import key, uniform
from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from esagent.runs.identity import read_manifest
from tests.runs.story import story

STRETCHES = 8
"""About how many times the run is killed: a stretch is up to 2/STRETCHES of the undisturbed time, after start-up."""

LONGER = 0.02
"""What each stretch is longer than the one before, as a share of that time: else an evaluation might never end."""


def main(overrides: list[str]) -> int:
    """Run both, compare, print; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="esagent-torture-") as folder:
        chosen = any(override.startswith("model.dtype=") for override in overrides)
        settings = [*([] if chosen else ["model.dtype=float32"]), *overrides]
        began = time.time()
        undisturbed = _finish(Path(folder, "undisturbed"), settings)
        started = datetime.fromisoformat(read_manifest(undisturbed)["started"]).timestamp()
        startup, seconds = max(1.0, started - began), time.time() - max(began, started)
        kills = 0
        runs = Path(folder, "killed")
        while not _ends_within(runs, settings, _stretch(kills, startup, seconds)):
            kills += 1
            print(f"killed {kills} times, {_steps(runs)} steps done", file=sys.stderr, flush=True)
        (killed,) = list_runs(runs)
        one, other = story(undisturbed), story(killed)
        differing = [name for name in one if one[name] != other[name]]
        digest: Any = one["summary"]["digest"]
        print(json.dumps({"seconds": round(seconds), "kills": kills, "digest": digest, "differing": differing}))
    return int(bool(differing))


def _stretch(kills: int, startup: float, seconds: float) -> float:
    """How long the process lives this time. startup, seconds: of the undisturbed run, before its folder and after."""
    share = float(uniform(key("stretch", kills), 1)[0]) * 2 / STRETCHES + LONGER * kills
    return startup + seconds * share


def _steps(runs: Path) -> int:
    return sum(len(run.journal.read_bytes().splitlines()) for run in list_runs(runs))


def _command(runs: Path, settings: list[str]) -> list[str]:
    found = list_runs(runs)
    action = ["resume", str(found[0].path)] if found else ["train", *settings, f"runs_dir={runs}"]
    return [sys.executable, "-m", "esagent", *action, "--json"]


def _finish(runs: Path, settings: list[str]) -> RunDirectory:
    subprocess.run(_command(runs, settings), check=True, stdout=subprocess.DEVNULL)
    (run,) = list_runs(runs)
    return run


def _ends_within(runs: Path, settings: list[str], seconds: float) -> bool:
    """Start or resume, and kill after `seconds`; whether the run was done before."""
    with subprocess.Popen(
        _command(runs, settings), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            _, errors = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return False
        if child.returncode != 0:
            raise RuntimeError(f"exit code {child.returncode}: {errors}")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
