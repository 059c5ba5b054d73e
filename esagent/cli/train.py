"""`esagent train`: compose, check, and run; or plan; or run many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esagent.cli.complete import complete_setting
from esagent.cli.environment import prepare
from esagent.cli.errors import guarded, tell
from esagent.cli.output import only_data, print_json, show_summary

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OVERRIDES",
        help="Settings, as in task.level=medium seed=1 space=core.",
        autocompletion=complete_setting,
    ),
]
Multirun = Annotated[bool, typer.Option("--multirun", "-m", help="Run every combination: seed=0,1,2 or range(0,6).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the composed plan with its cost; run nothing.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
ConfigDir = Annotated[
    Path | None,
    typer.Option("--config-dir", exists=True, file_okay=False, help="A folder with configuration groups of your own."),
]


def train(
    overrides: Overrides = None,
    multirun: Multirun = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    config_dir: ConfigDir = None,
) -> None:
    """Train an agent with evolution strategies.

    Groups: model backend agent task algorithm allocation credit sigma space budget, and experiment for a whole study.
    """
    with guarded():
        prepare()
        given = overrides or []
        if multirun:
            from esagent.cli.sweep import run_sweep

            run_sweep(given, config_dir, dry_run=dry_run, as_json=as_json)
        elif dry_run:
            _plan(given, config_dir, as_json=as_json)
        else:
            _run(given, config_dir, as_json=as_json)


def _run(overrides: list[str], config_dir: Path | None, *, as_json: bool) -> None:
    from esagent.config.compose import compose
    from esagent.runs.matching import find_preempted
    from esagent.runs.parent import pinned

    config = pinned(compose(overrides, config_dir))
    stopped = find_preempted(config)
    from esagent import train as training  # after the checks: it loads torch, and mistakes should be told fast

    with only_data():
        if stopped:
            tell(f"going on with {stopped.path}, which a scheduler stopped")
            summary = training.resume(stopped.path, json_mode=as_json)
        else:
            summary = training.train(config, json_mode=as_json)
    show_summary(summary, as_json=as_json)


def _plan(overrides: list[str], config_dir: Path | None, *, as_json: bool) -> None:
    from esagent.config.compose import compose
    from esagent.config.export import to_dict
    from esagent.plan import describe, plan

    config = compose(overrides, config_dir)
    cost = plan(config)
    if as_json:
        print_json({"config": to_dict(config), "plan": cost.to_dict()})
    else:
        typer.echo(describe(config, cost), nl=False)
