"""`resume --fork`: a new run that goes on from where another one stands, with other settings.

The new run takes over the parent's journal record by record, so that its weights are rebuilt from the base like any
run's, and evaluations where they would come out the same. Only then does the changed configuration act: on the steps
after. The parent is read and left as it is; it may even be at work.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from esagent.assemble import assemble
from esagent.calibration.kept import take_calibration
from esagent.config.change import changed
from esagent.config.check import check
from esagent.config.export import as_yaml, from_dict, to_dict
from esagent.config.limits import limit_of
from esagent.config.schema import Config
from esagent.core.ledger import step_cost
from esagent.errors import ConfigError
from esagent.guards.start import guarded_start
from esagent.record import circumstances, compare_circumstances, metrics_row
from esagent.runs.directory import RunDirectory, create_run, open_run
from esagent.runs.episodes import evaluation_file, step_file
from esagent.runs.evidence import require_all_records
from esagent.runs.identity import changes, identity, read_manifest, read_settings, write_identity
from esagent.runs.journal import Content, Journal, inspect_journal
from esagent.runs.metrics import append_row, read_rows
from esagent.runs.parent import Start
from esagent.runs.place import located
from esagent.runs.resume import replay, to_start
from esagent.runs.seal import is_sound, sealed
from esagent.runs.snapshots import write_snapshot
from esagent.train import Build, work

_KEPT = ("model.", "space.", "init was ", "init_state was ")
_CALIBRATED_BY = tuple(
    f"sigma.{name}" for name in ("auto ", "target ", "per ", "keep ", "probes ", "tasks ", "modules", "by_size ")
)
_EVALUATED_BY = ("model", "backend", "agent", "task", "space", "seed")


def fork(
    run_dir: Path, *, overrides: Sequence[str] = (), json_mode: bool = False, build: Build = assemble
) -> dict[str, Any]:
    """Start a new run from the last finished step of the one in `run_dir` and finish it; returns its summary.

    The new settings are those in the parent's config.yaml, edited or not, with `overrides`. It lies beside its parent
    unless `name` or `runs_dir` were changed, or the parent was copied out of the folder of its name. Raises ConfigError
    when nothing was changed, when model, space or start were, or when the parent is past its budget already; RunError
    when the parent is damaged.
    """
    started = time.monotonic()
    parent = open_run(run_dir)
    manifest = read_manifest(parent)
    start = identity(manifest)
    before = located(manifest["config"], manifest)
    config = from_dict(changed(located(read_settings(parent, manifest), manifest), overrides))
    check(replace(config, init=None, init_state="best"))  # the start is kept, and not asked for again
    settings = to_dict(config)
    differing = changes(before, settings)
    content = inspect_journal(parent.journal, start.seal)
    require_all_records(parent, content, start)
    _require_possible(differing, content.records, config)

    parts = build(config)
    text = as_yaml(config)
    to_start(parent.snapshots, parts.backend, start)
    init = manifest.get("init")
    guards = guarded_start(config, parts)
    ours = circumstances(config, parts.facts, text, start.digest, Start(**init) if init else None, guards)
    compare_circumstances(parent, manifest, ours)
    moved = any(line.startswith(("runs_dir was", "name was")) for line in differing)
    origin = {
        "run": f"{parent.name}/{parent.id}",
        "path": str(parent.path.resolve()),
        "steps": len(content.records),
        "journal": content.head,
        "changed": differing,
    }

    def prepare(run: RunDirectory) -> None:
        new = write_identity(run, ours, origin)
        write_snapshot(run.snapshots, 0, parts.backend, new.seal)
        if content.records:
            replay(parent.snapshots, content.records, parts.backend, len(content.records), start)
            write_snapshot(run.snapshots, len(content.records), parts.backend, new.seal)
            replay(run.snapshots, [], parts.backend, 0, new)  # a run is taken up with its parts as they were made
        _take_records(parent, run, content, new.seal)
        if config.sigma.auto:
            take_calibration(parent, run, start, new, len(content.records))
        if all(settings[key] == before[key] for key in _EVALUATED_BY):
            _take_evaluations(parent, run, len(content.records), start.seal, new.seal)

    beside = parent.path.resolve().parent  # unless it was copied out of the folder of its name
    base = config.runs_dir if moved or beside.name != config.name else beside.parent
    run = create_run(base, config.name, config.seed, text, prepare=prepare)
    return work(run, config, parts, started, json_mode)


def _require_possible(differing: Sequence[str], records: Sequence[Mapping[str, Any]], config: Config) -> None:
    if not differing:
        raise ConfigError(
            "--fork: no setting was changed; edit the run's config.yaml or give some, as in budget.steps=32"
        )
    fixed = [line for line in differing if line.startswith(_KEPT)]
    if fixed:
        raise ConfigError(*(f"{line}: a fork keeps its parent's model, space and start; train anew" for line in fixed))
    found = [line for line in differing if config.sigma.auto and line.startswith(_CALIBRATED_BY)]
    if found:
        by_hand = "sigma.auto=false sigma.start=..."
        raise ConfigError(*(f"{line}: a fork keeps its parent's calibration; set {by_hand}" for line in found))
    limit = limit_of(config)
    costs = [step_cost(record, limit.kind) for record in records]
    past = len(costs) - limit.counted(costs)
    if past > (not limit.foreseen):  # one step that went beyond the budget is what such a run may end with
        raise ConfigError(
            f"budget.{limit.kind}={limit.amount:g}: the parent has done {sum(costs):g} already; {sum(costs):g} or more"
        )


def _take_records(parent: RunDirectory, run: RunDirectory, content: Content, seal: str) -> None:
    """The parent's records, chained onto the new run's seal, with their rows of metrics and their episodes."""
    with Journal(run.journal, seal) as journal:
        for record in content.records:
            append_row(run.metrics, metrics_row(record))
            journal.append(record)
            _copy(step_file(parent.episodes, record["step"]), run.episodes)


def _take_evaluations(parent: RunDirectory, run: RunDirectory, steps: int, old: str, new: str) -> None:
    """Evaluations of the states that both runs share, under the new run's seal."""
    for row in read_rows(parent.metrics):
        if row["kind"] == "evaluation" and row["step"] <= steps and is_sound(row, old):
            append_row(run.metrics, sealed(row, new))
            _copy(evaluation_file(parent.episodes, row["step"], row["split"]), run.episodes)


def _copy(file: Path, folder: Path) -> None:
    """Copy what is there; a damaged or missing file is told when the new run is opened."""
    if file.exists():
        shutil.copyfile(file, folder / file.name)
