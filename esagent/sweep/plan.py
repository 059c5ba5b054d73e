"""What a sweep hands to its launcher: a folder of its own with the jobs that are left."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from esagent.runs.atomic import reporting, write_json
from esagent.runs.matching import folder_of
from esagent.sweep.devices import devices_for
from esagent.sweep.folder import SweepFolder
from esagent.sweep.jobs import Job


def write_plan(
    path: Path, jobs: Sequence[Job], base: Sequence[str], devices: Sequence[str], config_dir: Path | None
) -> SweepFolder:
    """Make the folder `path` with its sweep.json.

    base: overrides that the launcher is composed from. devices: what it hands out, one job each. Raises
    EnvironmentFailure when the folder cannot be written.
    """
    folder = SweepFolder(path)
    own = str(config_dir.resolve()) if config_dir else None
    with reporting("make", path):
        path.mkdir(parents=True)
    plan = {
        "command": [sys.executable, "-m", "esagent.cli.job"],
        "config_dir": own,
        "options": ["--config-dir", own] if own else [],
        "base": list(base),
        "devices": list(devices),
        "jobs": [
            {
                **job.to_dict(),
                "index": job.index,
                "hydra": list(job.overrides),
                "folder": str(folder_of(job.config)),
                "key": job.key,
                "devices": devices_for(job.config, devices),
            }
            for job in jobs
        ],
    }
    write_json(folder.plan, plan)
    return folder
