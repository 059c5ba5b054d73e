"""What a run did, without what equal runs may differ in: for comparing one that was killed with one that was not."""

from __future__ import annotations

from typing import Any

from esagent.report.rows import read_history
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import read_journal
from esagent.runs.jsonio import plain
from esagent.runs.metrics import read_rows

TIMES = ("seconds", "flops", "shared_tokens")
"""What two equal runs may differ in: time, and work saved by what the process happened to have seen before."""


def story(run: RunDirectory) -> dict[str, Any]:
    """Everything that must be equal, to the bit, between a run that was killed and one that was not."""
    records = [
        {key: value for key, value in record.items() if key not in ("seconds", "cost", "peak_memory_bytes")}
        | {"cost": {key: value for key, value in record["cost"].items() if key not in TIMES}}
        for record in plain(read_journal(run.journal))  # nan is not equal to itself, None is
    ]
    evaluations = {
        (row["step"], row["split"]): {key: row[key] for key in ("rewards", "tasks", "digest", "episodes_sha256")}
        for row in read_rows(run.metrics)
        if row["kind"] == "evaluation"
    }
    summary = read_history(run.path).summary
    tokens = {name: count for name, count in summary["tokens"].items() if name != "shared"}
    names = ("digest", "selected_step", "steps", "pool", "validation", "heldout", "episodes")
    return {
        "records": records,
        "evaluations": evaluations,
        "summary": {name: summary[name] for name in names if name in summary} | {"tokens": tokens},
        "files": sorted(str(path.relative_to(run.path)) for path in run.path.rglob("*") if path.name != "run.holder"),
    }
