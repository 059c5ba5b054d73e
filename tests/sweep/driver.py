"""`python -m tests.sweep.driver FOLDER`: what `esagent sweep` does between its plan and its table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from esagent.sweep.folder import SweepFolder
from esagent.sweep.host import host


def main() -> None:
    folder = SweepFolder(Path(sys.argv[1]))
    jobs = json.loads(folder.plan.read_text())["jobs"]
    command = [sys.executable, "-m", "esagent.cli.launch", str(folder.path)]
    code, received = host(folder, command, {job["index"]: f"job {job['index']}" for job in jobs})
    print(json.dumps({"code": code, "received": received}))


if __name__ == "__main__":
    main()
