"""Where Typer meets Hydra: the only file of the command line that knows Hydra.

A single run needs Hydra's composition alone. A multirun needs its sweeper and launcher as well; every job is then
`esagent train <overrides>` in a process of its own, which leaks no device state, survives any launcher, and keeps one
failing job from stopping the rest.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from esagent.config.compose import CONFIG_NAME, compose, engine, screen_overrides
from esagent.errors import ConfigError

__all__ = ["compose", "multirun"]


def multirun(overrides: Sequence[str], config_dir: Path | None, options: Sequence[str]) -> list[dict[str, Any]]:
    """Run every combination of the swept overrides.

    options: further options of `esagent train` for each job; with `--json` a job's standard output is kept, and with
    `--dry-run` what Hydra notes about the sweep goes to a folder that is gone afterwards.
    Returns one {"overrides", "exit_code", "summary"} per job. Raises ConfigError when nothing could be started.
    """
    with engine(config_dir) as hydra, TemporaryDirectory(prefix="esagent-") as passing:
        screened = screen_overrides(hydra, overrides, multirun=True)
        if screened.problems:
            raise ConfigError(*screened.problems)
        extra = [*options, *(["--config-dir", str(config_dir.resolve())] if config_dir else [])]
        batches = hydra.multirun(
            config_name=CONFIG_NAME,
            task_function=partial(_job, tuple(extra)),
            overrides=[*screened.accepted, *([f"hydra.sweep.dir={passing}"] if "--dry-run" in options else [])],
            with_log_configuration=False,
        )
    return [job.return_value for batch in batches for job in batch]


def _job(options: Sequence[str], _composed: DictConfig) -> dict[str, Any]:
    """One job of a sweep, run wherever the launcher put it."""
    overrides = [item.removeprefix("++") for item in HydraConfig.get().overrides.task]
    command = [sys.executable, "-m", "esagent", "train", *options, "--", *overrides]
    keep = subprocess.PIPE if "--json" in options else None
    with subprocess.Popen(command, stdout=keep, text=True) as process:
        try:
            output, _ = process.communicate()
        except KeyboardInterrupt:
            # The job got the same signal and ends at a step boundary: wait for that instead of killing it.
            process.wait()
            raise
    summary = json.loads(output) if output and output.strip() else None
    return {"overrides": overrides, "exit_code": process.returncode, "summary": summary}
