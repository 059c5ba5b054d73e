"""The training loop: where agent, tasks, backend, strategy and allocation meet, and nowhere else.

    sigma               <- calibration around the start      with sigma=auto
    for t = 0, 1, ... until the budget is spent:
        (sigma, alpha)  <- schedules(t, T_t)                     T_t: steps to be expected
        directions      <- allocation(credit, sigma)             and factors on alpha
        population      <- strategy.ask(directions)              seeds, antithetic twins
        rewards         <- rollout(population, tasks of step t)  the same tasks for every member; or likelihoods
        update          <- strategy.tell(population, rewards)
        theta           <- backend.apply(update)                 alpha in the update
        credit          <- what failed in the episodes           earliest verifiable mistake
        journal         <- (population, rewards, update, digest, credit)

Guards look at it all before the first step and beside every one (docs/guards.md).

The unperturbed agent is evaluated at the start, every E steps and at the end; a state is chosen on validation tasks (or
is the last), and held-out tasks are seen by the base and by the chosen state alone. All randomness derives from keys,
so a run that was stopped goes on with the very directions and tasks it would have had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from esagent.allocation.base import Evidence
from esagent.allocation.history import history_after, history_of
from esagent.assemble import Parts, assemble
from esagent.blocks import block_summary
from esagent.calibration.kept import calibrated, calibration_rows, calibration_summary, read_calibration
from esagent.config.change import changed
from esagent.config.export import as_yaml, from_dict
from esagent.config.limits import limit_of
from esagent.config.schema import Config, Select
from esagent.core.ledger import step_cost
from esagent.credit.belief import belief_of, learn
from esagent.evaluate import Split, evaluate, spent
from esagent.guards.start import guarded_start
from esagent.guards.watch import Watch
from esagent.judging import judge_step
from esagent.objective import FITNESS, OBJECTIVES
from esagent.record import (
    StepResult,
    begin_counting,
    circumstances,
    compare_circumstances,
    journal_record,
    metrics_row,
    told_of_workers,
)
from esagent.report.console import Progress
from esagent.report.curve import save_curve
from esagent.runs.atomic import reporting
from esagent.runs.directory import RunDirectory, create_run, open_run
from esagent.runs.episodes import step_file, write_episodes
from esagent.runs.failure import noting_failure
from esagent.runs.identity import Identity, identity, read_manifest, read_settings, require_settings, write_identity
from esagent.runs.journal import Journal, inspect_journal
from esagent.runs.lock import locked
from esagent.runs.mend import mend, warn_of_damage
from esagent.runs.metrics import append_row, read_rows
from esagent.runs.outcome import read_outcome, write_outcome
from esagent.runs.parent import begin, begin_again
from esagent.runs.place import located
from esagent.runs.resume import recover, replay
from esagent.runs.snapshots import prune, snapshot_file, write_snapshot
from esagent.stopping import Stop, stopping
from esagent.summary import budget_summary, choose, comparison, cost_summary, curve_summary, decoding
from esagent.task_sampling import step_tasks

Build = Callable[[Config], Parts]


def train(config: Config, *, json_mode: bool = False, build: Build = assemble) -> dict[str, Any]:
    """Run `config` from the start and return its summary (also in summary.json of the new run directory).

    json_mode: plain progress lines on stderr. build: makes the parts, before anything is written.
    Raises Interrupted or Preempted at a step boundary after a signal, InvalidRun for what a guard found, and the errors
    of the parts.
    """
    started = time.monotonic()
    parts = build(config)
    config, start = begin(config, parts.backend, parts.facts.model_hash)
    text = as_yaml(config)
    guards = guarded_start(config, parts)
    manifest = circumstances(config, parts.facts, text, parts.backend.digest(), start, guards)
    run = create_run(config.runs_dir, config.name, config.seed, text, prepare=lambda run: write_identity(run, manifest))
    return work(run, config, parts, started, json_mode)


def resume(
    run_dir: Path, *, overrides: Sequence[str] = (), json_mode: bool = False, build: Build = assemble
) -> dict[str, Any]:
    """Go on with a run that was stopped, from its exact state; a finished one whose files are sound gives its summary.

    overrides: settings as in `budget.steps=8`, which must be those of the run. Raises ConfigError with the differences
    when the settings are not those the run was started with (`fork` goes on with others), RunError for damage.
    """
    started = time.monotonic()
    run = open_run(run_dir)
    manifest = read_manifest(run)
    content = inspect_journal(run.journal, manifest["checksum"])
    require_settings(run, manifest, changed(read_settings(run, manifest), overrides))
    finished = read_outcome(run, content.head)
    if finished is not None:
        warn_of_damage(run, content.records, identity(manifest))
        if not (run.curve_svg.exists() and run.curve_png.exists()):  # what a run that is killed does last
            with locked(run), reporting("write", run.curve_svg):
                save_curve(run.path)
        return finished
    config = from_dict({"guards": "warn", **manifest["config"]})  # a run of an earlier version began without guards
    parts = build(from_dict(located(manifest["config"], manifest)))
    compare_circumstances(run, manifest, circumstances(config, parts.facts, "", ""))
    begin_again(run, config, parts.backend, parts.facts.model_hash, identity(manifest))
    return work(run, config, parts, started, json_mode)


def work(run: RunDirectory, config: Config, parts: Parts, started: float, json_mode: bool) -> dict[str, Any]:
    """Everything of `run` that is not done yet, with freshly built parts; returns and writes its summary."""
    blocks = [block.name for block in parts.backend.blocks()]
    limit = limit_of(config)
    advice = f"go on with: esagent resume {run.typed}"
    display = Progress(limit, blocks, json_mode, fitness=FITNESS[config.objective])
    with locked(run), stopping(advice, run.preempted) as stop, display as progress:
        try:
            manifest = read_manifest(run)
            start = identity(manifest)
            watch = Watch(config, parts, start.digest, run.typed)
            with recover(run, parts.backend, start) as journal, noting_failure(run):
                rows = [*calibration_rows(run, config, start), *map(metrics_row, journal.records)]
                mend(run, journal.records, rows, start)
                earlier = sum(row["seconds"] for row in read_rows(run.metrics))
                parts = calibrated(run, config, parts, start, len(journal.records), progress)
                watch.calibration(read_calibration(run, start) if config.sigma.auto else None)
                _search(run, config, parts, start, journal, stop, progress, watch)
                summary = _report(run, config, parts, start, journal, stop, progress)
                summary["guards"] = watch.summary(journal.records, manifest.get("guards"))
                summary["seconds"] = time.monotonic() - started + earlier
                summary = write_outcome(run, summary, journal.head)
            with reporting("write", run.curve_svg):
                save_curve(run.path)
        except Exception as error:
            error.run_dir = run.path  # type: ignore[attr-defined]  # where the command line keeps the traceback
            raise
    return summary


def _search(
    run: RunDirectory,
    config: Config,
    parts: Parts,
    start: Identity,
    journal: Journal,
    stop: Stop,
    progress: Progress,
    watch: Watch,
) -> None:
    """All steps that the journal does not hold yet, with the evaluations and snapshots between them."""
    budget, limit, backend, agent = config.budget, limit_of(config), parts.backend, parts.agent
    belief, history = belief_of(journal.records, agent.modules), history_of(journal.records)
    costs = [step_cost(record, limit.kind) for record in journal.records]

    while True:
        step, directions = len(costs), limit.next_directions(costs)
        over = directions == 0
        if limit.counted(costs) == step:
            if _due(step, budget.snapshot_every, over) or _due(step, budget.evaluate_every, over):
                write_snapshot(run.snapshots, step, backend, start.seal)
            if _due(step, budget.evaluate_every, over):
                for split in _splits(config, step):
                    stop.check()
                    progress.phase(f"evaluating on {split}")
                    evaluation = evaluate(run, parts, step, split, start.seal, on_round=stop.between_rounds)
                    progress.evaluation(step, split, evaluation.mean)
        if over:
            break
        stop.check()

        began, before = time.monotonic(), backend.cost()
        begin_counting(backend)
        sigma, step_size = parts.scales.at(step, limit.expected_steps(costs))
        allocation = parts.allocator.allocate(
            step=step,
            blocks=backend.blocks(),
            directions=directions,
            sigma=sigma,
            evidence=Evidence(belief.credit, belief.reached, history),
        )
        population = parts.strategy.ask(step, allocation)
        tasks = step_tasks(
            budget.task_sampling, parts.pools.pool, config.seed, step, budget.tasks_per_step, journal.records
        )
        rollout = OBJECTIVES[config.objective](parts, population.members, tasks)
        groups = [task.group for task in tasks if task.id not in rollout.dropped]
        scaled = allocation.scaled(step_size)
        update = parts.strategy.tell(population, rollout.rewards, step_size=scaled, groups=groups)
        judgement = judge_step(config, parts, step, tasks, rollout)
        restored = watch.before_update(journal.records)
        applied = backend.apply(update)
        before_step, belief = belief, learn(belief, judgement.judged, config.credit)

        written = [*rollout.episodes, *judgement.episodes]
        episodes = write_episodes(step_file(run.episodes, step), written)
        cost, seconds = spent(before, backend.cost()), time.monotonic() - began
        record = journal_record(
            StepResult(
                allocation,
                population,
                tasks,
                rollout,
                update,
                applied,
                judgement,
                before_step,
                belief,
                cost,
                seconds,
                episodes,
                config.algorithm.update_norm,
                restored,
                told_of_workers(backend),
            )
        )
        row = metrics_row(record)
        append_row(run.metrics, row)
        journal.append(record)  # last: with it the step is done
        watch.after_step(journal.records)
        history = history_after(history, record)
        costs.append(step_cost(record, limit.kind))
        left = sum(record["seconds"] for record in journal.records) / len(costs)
        left *= limit.expected_steps(costs) - limit.counted(costs)
        progress.step(
            costs,
            row["reward_mean"],
            row["reward_std"],
            allocation.sigma,
            allocation.counts(),
            row["tokens_per_second"],
            left,
        )
    stop.check()


def _report(
    run: RunDirectory, config: Config, parts: Parts, start: Identity, journal: Journal, stop: Stop, progress: Progress
) -> dict[str, Any]:
    """Choose the state, evaluate it on held-out tasks, and compare it with the base.

    A signal stops an evaluation at work, which a resume then does again; after the last one nothing is left to stop.
    """
    limit = limit_of(config)
    costs = [step_cost(record, limit.kind) for record in journal.records]
    steps = limit.counted(costs)
    reach = partial(replay, run.snapshots, journal.records, parts.backend, start=start)
    at = partial(evaluate, run, parts, seal=start.seal, reach=reach, on_round=stop.between_rounds)
    evaluated = [step for step in range(steps + 1) if _due(step, config.budget.evaluate_every, step == steps)]
    for step in evaluated:  # there already, but for the last state where a step went beyond the budget, or after damage
        for split in _splits(config, step):
            at(step=step, split=split)
    best = steps
    if config.budget.select is Select.validation:
        best = choose([at(step=step, split="validation") for step in evaluated])
    reach(best)
    digest = parts.backend.digest()
    write_snapshot(run.snapshots, best, parts.backend, start.seal)
    prune(run.snapshots, last=2, keep={0, best})
    displacement = parts.backend.displacement(snapshot_file(run.snapshots, 0))
    compared: dict[str, Any] = {}
    for split in _splits(config, 0):
        progress.phase(f"evaluating the state after step {best} on {split}")
        compared[split] = comparison(at(step=0, split=split), at(step=best, split=split))
    rows, evaluations = [metrics_row(record) for record in journal.records], _evaluations(run)
    return {
        "run": str(run.path),
        "seed": config.seed,
        "model": config.model.name,
        "init": config.init and {"run": config.init, "state": int(config.init_state)},
        "objective": config.objective.value,
        "decoding": decoding(config),
        "steps": steps,
        "selected_step": best,
        "digest": digest,
        **calibration_summary(run, config, start),
        **compared,
        **curve_summary(evaluations, costs[:steps], limit),
        "blocks": block_summary(rows[:best], evaluations, displacement),
        "budget": budget_summary(limit, costs),
        **cost_summary(
            rows,
            evaluations,
            steps,
            parts.facts.parameters,
            calibration_rows(run, config, start),
        ),
    }


def _evaluations(run: RunDirectory) -> list[dict[str, Any]]:
    return [row for row in read_rows(run.metrics) if row["kind"] == "evaluation"]


def _due(step: int, every: int, over: bool) -> bool:
    """Whether what is done at the start, every `every` steps and at the end is due after `step` updates."""
    return step == 0 or over or (every > 0 and step % every == 0)


def _splits(config: Config, step: int) -> list[Split]:
    """What the state after `step` updates is evaluated on: held-out tasks are for the base here, never for a choice."""
    splits: list[Split] = ["pool"]
    if config.budget.select is Select.validation:
        splits.append("validation")
    if step == 0 and config.task.heldout > 0:
        splits.append("heldout")
    return splits
