"""`esagent sweep`: every arm of a study on the same seeds, each job a process of its own; the same command goes on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from esagent.cli.environment import prepare
from esagent.cli.errors import guarded, tell
from esagent.cli.output import print_json, to_terminal
from esagent.cli.train import ConfigDir, DryRun, Json, Overrides

if TYPE_CHECKING:
    from esagent.cli.bridge import Grid
    from esagent.config.schema import Config
    from esagent.sweep.folder import SweepFolder
    from esagent.sweep.jobs import Job, Outcome


def sweep(
    overrides: Overrides = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    config_dir: ConfigDir = None,
) -> None:
    """Run a study: every combination of the swept settings, as in sweep space=bias,core seed=0,1,2.

    What is finished is skipped, what was stopped goes on. hydra/launcher=joblib runs one job per GPU.
    """
    with guarded():
        prepare()
        run_sweep(overrides or [], config_dir, dry_run=dry_run, as_json=as_json)


def run_sweep(overrides: list[str], config_dir: Path | None, *, dry_run: bool, as_json: bool) -> None:
    """Expand, check, launch what is left to do, and tell what became of every job.

    Raises ConfigError before anything starts; RunError when a job failed, and Preempted or Interrupted when the sweep
    was stopped before all was done, both after all has been told.
    """
    from esagent.cli.bridge import expand
    from esagent.config.schema import Guards
    from esagent.guards.budgets import unequal
    from esagent.guards.finding import enforce
    from esagent.sweep.jobs import look_up, make_jobs, outcomes, pairing
    from esagent.sweep.table import print_outcomes

    grid = expand(overrides, config_dir)
    jobs = make_jobs(grid.jobs, compose_all(grid.jobs, config_dir))
    problems = pairing(jobs)
    for line in problems or [_paired(jobs)]:
        tell(line)
    mode = jobs[0].config.guards
    if not dry_run and mode is not Guards.off:
        enforce(unequal([job.config for job in jobs]), mode)
    before = look_up(jobs)
    if dry_run:
        _plans(jobs, {key for key, match in before.items() if match.finished}, problems, as_json=as_json)
        return
    folder, code, received = None, 0, None
    left = [job for job in jobs if not (job.key in before and before[job.key].finished)]
    if left:
        folder, code, received = _launch(grid, left, config_dir)
    ended = outcomes(jobs, before, folder)
    print_outcomes(ended)
    if as_json:
        listed = [outcome.to_dict() for outcome in ended]
        print_json({"paired": not problems, "notes": problems, "jobs": listed})
    end(ended, code, received)


def compose_all(jobs: Sequence[Sequence[str]], config_dir: Path | None) -> list[Config]:
    """The configuration of every job. Raises ConfigError with each mistake once, and a job that has it."""
    from esagent.cli.bridge import compose
    from esagent.errors import ConfigError
    from esagent.runs.parent import pinned

    configs, problems = [], dict[str, list[str]]()
    for overrides in jobs:
        plain = [item.removeprefix("++") for item in overrides]
        try:
            configs.append(pinned(compose(plain, config_dir)))
        except ConfigError as error:
            for problem in error.problems:
                problems.setdefault(problem, []).append(" ".join(plain))
    if problems:
        where = {text: f" (in {len(found)} of {len(jobs)} jobs, as in {found[0]})" for text, found in problems.items()}
        raise ConfigError(*(text + where[text] * (len(problems[text]) < len(jobs)) for text in problems))
    return configs


def _paired(jobs: Sequence[Job]) -> str:
    from esagent.sweep.jobs import arms_of

    arms, seeds = len(arms_of(jobs)), len({job.config.seed for job in jobs})
    return (
        f"{arms} arm{'s' * (arms > 1)} on {seeds} seed{'s' * (seeds > 1)}"
        + ", paired: the same seeds, tasks, order of tasks, budget and base weights" * (arms > 1)
    )


def _launch(grid: Grid, left: Sequence[Job], config_dir: Path | None) -> tuple[SweepFolder, int, int | None]:
    """Returns the sweep's folder, the launcher's exit code, and the first signal that came meanwhile."""
    from esagent.sweep.host import host
    from esagent.sweep.plan import write_plan

    folder = write_plan(grid.folder, left, grid.base, grid.devices, config_dir)
    tell(f"{len(left)} job{'s' * (len(left) > 1)} to do; what each prints is kept in {folder.path}/job-N.log")
    command = [sys.executable, "-m", "esagent.cli.launch", str(folder.path)]
    code, received = host(folder, command, {job.index: job.label for job in left})
    return folder, code, received


def _plans(jobs: Sequence[Job], finished: set[str], problems: list[str], *, as_json: bool) -> None:
    """Print what is left to do will cost, arm by arm."""
    from esagent.config.export import to_dict
    from esagent.plan import plan
    from esagent.sweep.costs import costs, footing, table, to_json

    plans = [plan(job.config) for job in jobs]
    found = costs(jobs, plans, finished)
    if not as_json:
        to_terminal(table(found), footing(jobs, plans))
        return
    listed = [
        {
            **job.to_dict(),
            "state": "done before" if job.key in finished else "to do",
            "config": to_dict(job.config),
            "plan": cost.to_dict(),
        }
        for job, cost in zip(jobs, plans, strict=True)
    ]
    print_json({"paired": not problems, "notes": problems, **to_json(found), "jobs": listed})


def end(ended: Sequence[Outcome], code: int, received: int | None) -> None:
    """Return when all is done; otherwise tell why not, and raise the error with the exit code for it.

    code: of the launcher. received: the signal that asked the sweep to stop.
    """
    from esagent.errors import Interrupted, Preempted, RunError
    from esagent.sweep.follow import last_message

    failed = [outcome for outcome in ended if outcome.state == "failed"]
    for outcome in failed:
        reason = last_message(outcome.log) if outcome.log else ""
        tell(f"{outcome.job.label} failed with exit code {outcome.exit_code}: {reason}; log: {outcome.log}")
    done = sum(outcome.state in ("done", "done before") for outcome in ended)
    if done == len(ended):
        return
    left = f"{done} of {len(ended)} jobs are done; the same command goes on"
    if received == signal.SIGINT:
        raise Interrupted(f"interrupted; {left}")
    if received is not None:
        raise Preempted(f"stopped by {signal.Signals(received).name}; {left}")
    if failed:
        raise RunError(f"{len(failed)} of {len(ended)} jobs failed")
    if code != 0:
        raise RunError(f"the launcher ended with exit code {code}; {left}")
    raise Preempted(f"jobs were stopped; {left}")
