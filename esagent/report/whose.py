"""Which state of the agent a file of episodes is of, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esagent.runs.directory import RunDirectory
from esagent.runs.evals import read_eval
from esagent.runs.jsonio import parse

_OF_RUN = re.compile(r"(?:eval|step)-(\d{6,})\b")
_OF_EVAL = re.compile(r"(base|trained)-")


def state_of(path: Path) -> str:
    """`base`, `trained, after step 4`, or where a run went on from another, `as it started, from RUN after step 4`.

    "" for a file that is named like none of a run or an evaluation.
    """
    of_run, of_eval = _OF_RUN.match(path.name), _OF_EVAL.match(path.name)
    if of_run:
        step: Any = int(of_run[1])
        return f"trained, after step {step}" if step else _start(path.parent.parent)
    if not of_eval:
        return ""
    step = (read_eval(path.parent) or {}).get("state") if of_eval[1] == "trained" else 0
    if step is None:  # a result that cannot be read
        return "trained"
    return f"trained, after step {step}" if step else _start(path.parents[2])


def _start(run: Path) -> str:
    """Of a run's state 0; of an evaluation without a run, the base model."""
    try:
        manifest = parse(RunDirectory(run).manifest.read_bytes())
    except (OSError, ValueError):
        return "base"
    init = manifest.get("init") if isinstance(manifest, Mapping) else None
    return f"as it started, from {init['run']} after step {init['state']}" if isinstance(init, Mapping) else "base"
