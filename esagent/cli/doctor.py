"""`esagent doctor`: would this run be a valid one, here?"""

from __future__ import annotations

import typer

from esagent.cli.environment import prepare
from esagent.cli.errors import guarded
from esagent.cli.output import only_data, print_json, to_terminal
from esagent.cli.train import ConfigDir, Json, Overrides


def doctor(overrides: Overrides = None, as_json: Json = False, config_dir: ConfigDir = None) -> None:
    """Check a run without running it: machine, settings, model, tasks. Exit code 3 where a strict guard finds a fault.

    Takes what train or sweep take; of a sweep, the first job is looked at in full, and the budgets of all.
    """
    with guarded():
        prepare()
        from esagent.cli.bridge import compose, expand
        from esagent.cli.sweep import compose_all

        given = overrides or []
        jobs = expand(given, config_dir).jobs
        configs = compose_all(jobs, config_dir) if len(jobs) > 1 else [compose(given, config_dir)]
        from esagent.config.schema import Guards
        from esagent.guards.doctor import diagnose
        from esagent.report.guards import guards_table

        with only_data():
            diagnosis = diagnose(configs)
        failed = bool(diagnosis.faults) and configs[0].guards is Guards.strict
        if as_json:
            print_json(
                {
                    "mode": configs[0].guards.value,
                    "sound": not diagnosis.faults,
                    "jobs": len(configs),
                    "machine": [finding.to_dict() for finding in diagnosis.machine],
                    "guards": {name: [f.to_dict() for f in found] for name, found in diagnosis.run.items()},
                }
            )
        else:
            rows = [
                row for name, found in diagnosis.run.items() for row in [f.to_dict() for f in found] or [_unseen(name)]
            ]
            to_terminal(
                guards_table([f.to_dict() for f in diagnosis.machine], "This machine"),
                guards_table(rows, f"This run (guards={configs[0].guards.value})"),
            )
        if failed:
            raise typer.Exit(3)


def _unseen(guard: str) -> dict[str, str]:
    return {"guard": guard, "level": "-", "cause": "nothing to look at"}
