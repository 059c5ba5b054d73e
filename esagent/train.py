"""The training loop: where agent, tasks, backend, strategy and allocation meet, and nowhere else.

    for t = 0 .. T-1:
        (sigma, alpha)  <- schedules(t)
        directions      <- allocation(credit, sigma)
        population      <- strategy.ask(directions)              seeds, antithetic twins
        rewards         <- rollout(population, tasks of step t)  the same tasks for every member
        update          <- strategy.tell(population, rewards)
        theta           <- backend.apply(update)                 alpha in the update
        journal         <- (population, rewards, update, digest, credit)

The unperturbed agent is evaluated at the start, every E steps and at the end; a state is chosen on validation tasks (or
is the last), and held-out tasks are seen by the base and by the chosen state alone. All randomness derives from keys,
so a run that was stopped goes on with the very directions and tasks it would have had.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from esagent.assemble import Parts, assemble
from esagent.config.export import from_dict, to_dict
from esagent.config.schema import Config, Select
from esagent.credit.blame import blame_counts
from esagent.credit.share import uniform_credit, update_credit
from esagent.evaluate import Split, evaluate, scored_rollout, spent
from esagent.pools import step_tasks
from esagent.record import StepResult, journal_record, metrics_row, note_circumstances
from esagent.report.console import Progress
from esagent.report.curve import save_curve
from esagent.runs.atomic import write_json
from esagent.runs.directory import RunDirectory, create_run, open_run
from esagent.runs.episodes import step_file, write_episodes
from esagent.runs.failure import noting_failure
from esagent.runs.journal import Journal
from esagent.runs.lock import locked
from esagent.runs.metrics import append_row, read_rows
from esagent.runs.resume import recover, replay
from esagent.runs.snapshots import prune, write_snapshot
from esagent.stopping import Stop, stopping
from esagent.summary import choose, comparison, cost_summary, decoding

Build = Callable[[Config], Parts]


def train(config: Config, *, json_mode: bool = False, build: Build = assemble) -> dict[str, Any]:
    """Run `config` from the start and return its summary (also in summary.json of the new run directory).

    json_mode: plain progress lines on stderr. build: makes the parts, before anything is written.
    Raises Interrupted or Preempted at a step boundary after a signal, and the errors of the parts.
    """
    started = time.monotonic()
    parts = build(config)
    run = create_run(config.runs_dir, config.name, config.seed, OmegaConf.to_yaml(OmegaConf.create(to_dict(config))))
    return _run(run, config, parts, started, json_mode)


def resume(run_dir: Path, *, json_mode: bool = False, build: Build = assemble) -> dict[str, Any]:
    """Go on with a run that was stopped, from its exact state; a finished run only gives its summary."""
    started = time.monotonic()
    run = open_run(run_dir)
    if run.summary.exists():
        finished: dict[str, Any] = json.loads(run.summary.read_text())
        return finished
    config = from_dict(OmegaConf.to_container(OmegaConf.load(run.config)))  # type: ignore[arg-type]
    return _run(run, config, build(config), started, json_mode)


def _run(run: RunDirectory, config: Config, parts: Parts, started: float, json_mode: bool) -> dict[str, Any]:
    blocks = [block.name for block in parts.backend.blocks()]
    with locked(run), stopping() as stop, Progress(config.budget.steps, blocks, json_mode) as progress:
        try:
            note_circumstances(run, config.seed, parts.facts)
            recover(run, parts.backend)
            with Journal(run.journal) as journal, noting_failure(run):
                earlier = sum(row["seconds"] for row in read_rows(run.metrics))
                _search(run, config, parts, journal, stop, progress)
                summary = _report(run, config, parts, journal, progress)
            summary["seconds"] = time.monotonic() - started + earlier
            write_json(run.summary, summary)
            save_curve(run.path)
        except Exception as error:
            error.run_dir = run.path  # type: ignore[attr-defined]  # where the command line keeps the traceback
            raise
    return summary


def _search(run: RunDirectory, config: Config, parts: Parts, journal: Journal, stop: Stop, progress: Progress) -> None:
    """All steps that the journal does not hold yet, with the evaluations and snapshots between them."""
    budget, backend, agent = config.budget, parts.backend, parts.agent
    credit = journal.records[-1]["credit"] if journal.records else uniform_credit(agent.modules)
    advice = f"go on with: esagent resume {run.path}"

    for step in range(len(journal.records), budget.steps + 1):
        if _due(step, budget.snapshot_every, budget.steps) or _due(step, budget.evaluate_every, budget.steps):
            write_snapshot(run.snapshots, step, backend)
        if _due(step, budget.evaluate_every, budget.steps):
            for split in _splits(config, step):
                progress.phase(f"evaluating on {split}")
                progress.evaluation(step, split, evaluate(run, parts, step, split).mean)
        if step == budget.steps:
            break
        stop.check(advice)

        start, before = time.monotonic(), backend.cost()
        sigma, step_size = parts.scales.at(step)
        allocation = parts.allocator.allocate(
            step=step,
            blocks=backend.blocks(),
            directions=config.algorithm.directions,
            sigma=sigma,
            credit=credit,
        )
        population = parts.strategy.ask(step, allocation)
        tasks = step_tasks(parts.pools.pool, config.seed, step, budget.tasks_per_step)
        rollout = scored_rollout(parts, population.members, tasks)
        update = parts.strategy.tell(population, rollout.rewards, step_size=step_size)
        applied = backend.apply(update)
        blamed = blame_counts([episode.score for episode in rollout.episodes], agent.modules)
        credit = update_credit(credit, blamed)

        write_episodes(step_file(run.episodes, step), rollout.episodes)
        cost, seconds = spent(before, backend.cost()), time.monotonic() - start
        result = StepResult(
            allocation, sigma, population, tasks, rollout, update, applied, blamed, credit, cost, seconds
        )
        row = metrics_row(result)
        append_row(run.metrics, row)
        journal.append(journal_record(result))  # last: with it the step counts as done
        done = step + 1
        left = sum(record["seconds"] for record in journal.records) / done * (budget.steps - done)
        progress.step(
            done, row["reward_mean"], row["reward_std"], sigma, allocation.counts(), row["tokens_per_second"], left
        )
    stop.check(advice)


def _report(run: RunDirectory, config: Config, parts: Parts, journal: Journal, progress: Progress) -> dict[str, Any]:
    """Choose the state, evaluate it on held-out tasks, and compare it with the base."""
    steps = config.budget.steps
    reach = partial(replay, run.snapshots, journal.records, parts.backend)
    at = partial(evaluate, run, parts, reach=reach)
    best = steps
    if config.budget.select is Select.validation:
        evaluated = [s for s in range(steps + 1) if _due(s, config.budget.evaluate_every, steps)]
        best = choose([at(step=s, split="validation") for s in evaluated])
    reach(best)
    write_snapshot(run.snapshots, best, parts.backend)
    prune(run.snapshots, last=2, keep={0, best})
    compared: dict[str, Any] = {}
    for split in _splits(config, 0):
        progress.phase(f"evaluating the state after step {best} on {split}")
        compared[split] = comparison(at(step=0, split=split), at(step=best, split=split))
    return {
        "run": str(run.path),
        "seed": config.seed,
        "model": config.model.name,
        "decoding": decoding(config),
        "steps": steps,
        "selected_step": best,
        "digest": parts.backend.digest(),
        **compared,
        **cost_summary(read_rows(run.metrics)),
    }


def _due(step: int, every: int, steps: int) -> bool:
    """Whether what is done at the start, every `every` steps and at the end is due after `step` updates."""
    return step in (0, steps) or (every > 0 and step % every == 0)


def _splits(config: Config, step: int) -> list[Split]:
    """What the state after `step` updates is evaluated on: held-out tasks are for the base here, never for a choice."""
    splits: list[Split] = ["pool"]
    if config.budget.select is Select.validation:
        splits.append("validation")
    if step == 0 and config.task.heldout > 0:
        splits.append("heldout")
    return splits
