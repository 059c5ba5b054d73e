"""`esagent eval`: what a run's trained agent does beside the base agent, or what a bare model does, on chosen tasks.

Every task is worked on once greedily and `k` times sampled at a temperature. Base and trained meet the same tasks with
the same sampling noise, so every comparison is paired per task. Results go to a folder of their own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from esagent import outcome
from esagent.agents.base import Agent
from esagent.assemble import Facts, load_agent
from esagent.backends.base import Backend
from esagent.config.export import as_yaml
from esagent.config.schema import Config
from esagent.core.episode import Episode, Task
from esagent.credit.agreement import agreement
from esagent.errors import ConfigError, RunError
from esagent.evaluate import Split, spent
from esagent.intervention import Interventions, intervene, require_interventions
from esagent.outcome import Behaviour
from esagent.pools import take
from esagent.record import circumstances
from esagent.report.phases import Phases
from esagent.rollout import OnRound, Sampling, UnscoredError, rollout, unscored_tasks
from esagent.runs.atomic import write_json
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import write_episodes
from esagent.runs.evals import RESULT, episodes_name, evals_folder, new_eval
from esagent.runs.states import find_state
from esagent.summary import decoding
from esagent.tasks.base import TaskFamily
from esagent.tasks.registry import make_family

Build = Callable[[Config], tuple[Agent, Backend, Facts]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """What to evaluate, and how.

    split: which tasks. state: of a run, see find_state; None for best, or last while the run is unfinished.
    n: how many tasks; None for all that the configuration has.
    k: samples per task at `temperature`; 0 for greedy decoding alone.
    interventions: also run the agents with each module's gold behaviour in its place.
    """

    split: Split = "heldout"
    state: str | None = None
    n: int | None = None
    k: int = 4
    temperature: float = 0.3
    interventions: bool = False


@dataclass(frozen=True)
class _Bench:
    """What an evaluation runs on."""

    agent: Agent
    family: TaskFamily
    backend: Backend
    facts: Facts
    tasks: list[Task]


def evaluate_run(
    run: RunDirectory,
    trained: Config,
    config: Config,
    options: Options,
    *,
    plain: bool = False,
    build: Build = load_agent,
) -> dict[str, Any]:
    """Base and trained agent of `run`, side by side; the result is also in `RUN/evals/<id>/eval.json`.

    trained: the run's own configuration; config: the one to evaluate under. plain: no live display.
    Raises ConfigError for options that do not fit the run and a state that cannot be rebuilt, RunError for another base
    model than the run's or a task that it was trained on; nothing is left behind then.
    """
    found = find_state(run, options.state or ("best" if run.summary.exists() else "last"))
    if options.split == "pool" and (options.n or 0) > trained.task.pool:
        raise ConfigError(
            f"n={options.n}: the run was trained on {trained.task.pool} tasks; use another split for more"
        )
    family, tasks = _tasks(config, options)
    if options.split != "pool":
        _check_unseen(tasks, take(make_family(trained.task), "train", trained.seed, trained.task.pool), options.split)
    agent, backend, facts = build(config)
    if options.interventions:
        require_interventions(agent, family, tasks)
    known = found.manifest.get("model_hash")
    if known != facts.model_hash:
        raise RunError(f"{run.path} was trained on a base model with hash {known}; this one has {facts.model_hash}")

    def reach(step: int) -> None:
        replace(found, step=step).bring(backend)

    about = {
        "run": str(run.path),
        "objective": trained.objective.value,
        "state": found.step,
        "updates": len(found.records),
        "credit": found.records[found.step - 1]["credit"] if found.step else None,
    }
    states = {"base": 0} | ({"trained": found.step} if found.step else {})
    bench = _Bench(agent, family, backend, facts, tasks)
    return _evaluate(bench, states, reach, config, options, evals_folder(run.path), about, plain)


def evaluate_model(
    config: Config, options: Options, *, plain: bool = False, build: Build = load_agent
) -> dict[str, Any]:
    """The agent of `config` as its model comes; the result is also in `<runs_dir>/eval/<id>/eval.json`."""
    family, tasks = _tasks(config, options)
    agent, backend, facts = build(config)
    if options.interventions:
        require_interventions(agent, family, tasks)
    bench = _Bench(agent, family, backend, facts, tasks)
    parent = Path(config.runs_dir).expanduser() / "eval"
    return _evaluate(bench, {"base": 0}, lambda step: None, config, options, parent, {}, plain)


def _evaluate(
    bench: _Bench,
    states: Mapping[str, int],
    reach: Callable[[int], None],
    config: Config,
    options: Options,
    parent: Path,
    about: Mapping[str, Any],
    plain: bool,
) -> dict[str, Any]:
    """Measure every agent in its state, write everything down, and return the result."""
    started, before = time.monotonic(), bench.backend.cost()
    behaviours: dict[str, Behaviour] = {}
    digests: dict[str, str] = {}
    interventions: dict[str, Interventions] = {}
    with new_eval(parent, options.split) as folder, Phases(plain) as phases:
        for name, step in states.items():
            reach(step)
            behaviours[name] = _measure(bench, name, options, config.seed, phases)
            if options.interventions:
                phases.phase(f"{name}, each module's gold behaviour in its place")
                interventions[name] = intervene(bench.agent, bench.family, bench.backend, bench.tasks, phases.progress)
                phases.result(f"the most is gained by {interventions[name].bottleneck or 'none'}")
            digests[name] = bench.backend.digest()
            write_episodes(folder / episodes_name(name, sampled=False), behaviours[name].greedy)
            if options.k:
                write_episodes(folder / episodes_name(name, sampled=True), behaviours[name].sampled)
        unscored = {task for behaviour in behaviours.values() for task in _unscored(behaviour)}
        kept = [task.id for task in bench.tasks if task.id not in unscored]
        if not kept:
            raise RunError(f"no task of {options.split} was scored for every agent")
        result: dict[str, Any] = {
            "eval": str(folder),
            **about,
            "model": config.model.name,
            "decoding": decoding(config),
            "task": config.task.target or config.task.name,
            "split": options.split,
            "seed": config.seed,
            "n": len(kept),
            "k": options.k,
            "temperature": options.temperature if options.k else None,
            "metrics": outcome.metrics(behaviours, kept),
            "signals": outcome.signals(behaviours, kept),
            **({"interventions": _told(interventions, about.get("credit"))} if interventions else {}),
            "tasks": kept,
            "unscored": sorted(unscored),
            "rewards": {name: outcome.rewards(behaviour, kept) for name, behaviour in behaviours.items()},
            "digests": digests,
            "cost": asdict(spent(before, bench.backend.cost())),
            "seconds": time.monotonic() - started,
        }
        manifest = circumstances(config, bench.facts, as_yaml(config), digests["base"])
        write_json(folder / "manifest.json", manifest)
        write_json(folder / RESULT, result)
    return result


def _told(interventions: Mapping[str, Interventions], credit: Mapping[str, float] | None) -> dict[str, Any]:
    """By agent; of the trained one also whether the credit that its run had learned agrees."""
    told = {name: found.to_dict() for name, found in interventions.items()}
    if credit and "trained" in told:
        gains = {module: gain[0] for module, gain in interventions["trained"].gains.items()}
        found = agreement(credit, gains)
        told["trained"]["agreement"] = {**asdict(found), "same": found.same}
    return told


def _measure(bench: _Bench, name: str, options: Options, seed: int, phases: Phases) -> Behaviour:
    phases.phase(f"{name}, greedy")
    greedy = _scored(bench, None, phases.progress)
    phases.result(f"mean reward {_mean(greedy):.3f} on {len(bench.tasks)} tasks")
    if not options.k:
        return Behaviour(greedy, [])
    phases.phase(f"{name}, {options.k} samples at temperature {options.temperature:g}")
    sampled = _scored(bench, Sampling(options.k, options.temperature, seed), phases.progress)
    phases.result(f"mean reward {_mean(sampled):.3f}")
    return Behaviour(greedy, sampled)


def _scored(bench: _Bench, sampling: Sampling | None, on_round: OnRound) -> list[Episode]:
    """One rollout of the unperturbed agent; once more when the harness failed on too much of it."""

    def attempt() -> list[Episode]:
        episodes = rollout(
            bench.agent, bench.family, bench.backend, (), bench.tasks, on_round=on_round, sampling=sampling
        )
        unscored_tasks(episodes)
        return episodes

    try:
        return attempt()
    except UnscoredError as error:
        _log.warning("%s; trying once more", error)
        return attempt()


def _unscored(behaviour: Behaviour) -> set[str]:
    return {e.task.id for e in (*behaviour.greedy, *behaviour.sampled) if e.score.unscored}


def _mean(episodes: Sequence[Episode]) -> float:
    scored = [episode.score.reward for episode in episodes if not episode.score.unscored]
    return sum(scored) / max(1, len(scored))


def _tasks(config: Config, options: Options) -> tuple[TaskFamily, list[Task]]:
    """The family and the first n tasks of the split. Raises ConfigError when there are none or fewer."""
    asked = options.n if options.n is not None else getattr(config.task, options.split)
    if not asked:
        raise ConfigError(
            f"task.{options.split}=0: no task to evaluate on; choose another split, or say how many with --n"
        )
    family = make_family(config.task)
    return family, list(take(family, "train" if options.split == "pool" else options.split, config.seed, asked))


def _check_unseen(tasks: Sequence[Task], trained_on: Sequence[Task], split: str) -> None:
    seen = {task.content_hash: task.id for task in trained_on}
    for task in tasks:
        if task.content_hash in seen:
            raise RunError(f"task {task.id!r} of {split} was trained on (as {seen[task.content_hash]!r})")
