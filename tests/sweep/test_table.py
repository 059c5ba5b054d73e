from __future__ import annotations

import io

from esagent.config.compose import compose
from esagent.sweep.jobs import Outcome, make_jobs
from esagent.sweep.table import print_outcomes


def test_one_row_per_arm_and_seed() -> None:
    settings = [["space=bias", "seed=0"], ["space=bias", "seed=1"], ["space=core", "seed=0"], ["space=core", "seed=1"]]
    jobs = make_jobs(settings, [compose(overrides) for overrides in settings])
    summary = {"pool": {"gain": 0.25}, "heldout": {"gain": -0.0625}}
    ended = [
        Outcome(jobs[0], "done", 0, 65.0, summary=summary),
        Outcome(jobs[1], "done before", 0, 9.0, summary={"pool": {"gain": 0.5}}),
        Outcome(jobs[2], "failed", 1, 3.0),
        Outcome(jobs[3], "not started"),
    ]
    stream = io.StringIO()
    print_outcomes(ended, stream)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in stream.getvalue().splitlines() if "│" in line]
    assert rows == [
        ["space.name=bias", "0", "+0.250", "-0.062", "1m 05s", "done"],
        ["", "1", "+0.500", "-", "9s", "done before"],
        ["space.name=core", "0", "-", "-", "3s", "failed"],
        ["", "1", "-", "-", "-", "not started"],
    ]
