"""Which episode of a run is meant, among the files of its steps, its evaluations and those of `esagent eval`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.config.names import SPLITS
from esagent.config.nearest import suggest
from esagent.errors import ConfigError, RunError
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import damage, evaluation_file, read_episodes, step_file
from esagent.runs.evals import episodes_name, evals_folder, list_evals
from esagent.runs.journal import inspect_journal
from esagent.runs.metrics import read_rows

_EVALUATION = re.compile(r"eval-(\d{6,})-(\w+)\.jsonl\.zst")
_STEP = re.compile(r"step-(\d{6,})\.jsonl\.zst")


@dataclass(frozen=True)
class Wanted:
    """What was asked for; None where anything will do.

    step, split: the evaluation of the state after `step` updates on `split`. member: of the population of `step`.
    eval: id of an evaluation by `esagent eval`, or latest; of its `agent` (base or trained), greedy without `sample`.
    """

    step: int | None = None
    split: str | None = None
    member: int | None = None
    eval: str | None = None
    agent: str | None = None
    sample: int | None = None


def find_file(run: RunDirectory, wanted: Wanted) -> Path:
    """The file that holds the wanted episodes. By default what the last evaluated state did on held-out tasks.

    Raises ConfigError naming what there is.
    """
    if wanted.eval is not None or wanted.agent is not None or wanted.sample is not None:
        return _of_eval(run, wanted)
    if wanted.member is not None:
        steps = sorted(int(m[1]) for p in _files(run) if (m := _STEP.fullmatch(p.name)))
        step = _one(wanted.step, steps, f"{run.path} has no episodes of a population", "step")
        return step_file(run.episodes, step)
    found = [(m[2], int(m[1])) for p in _files(run) if (m := _EVALUATION.fullmatch(p.name))]
    if not found:
        raise ConfigError(f"{run.path} has no episodes of an evaluation yet")
    splits = [split for split in reversed(SPLITS) if any(split == s for s, _ in found)]
    if wanted.split is None:
        of_step = [s for s in splits if wanted.step is None or (s, wanted.step) in found]
        split = of_step[0] if of_step else splits[0]
    elif wanted.split in splits:
        split = wanted.split
    else:
        raise ConfigError(f"split={wanted.split}: no episodes of it; {suggest(wanted.split, splits)}")
    steps = sorted(step for s, step in found if s == split)
    return evaluation_file(run.episodes, _one(wanted.step, steps, "", f"evaluations on {split}: step"), split)


def doubt(run: RunDirectory, path: Path) -> str:
    """What is wrong with a file of `find_file` that is one of the run's own, "" when nothing is known to be.

    What vouches for it is the row of metrics.jsonl, or the line of the journal, that holds its SHA-256.
    """
    evaluation = _EVALUATION.fullmatch(path.name)
    if path.parent != run.episodes:
        return ""
    if evaluation:
        wanted = (int(evaluation[1]), evaluation[2])
        notes = [row for row in read_rows(run.metrics) if (row["step"], row.get("split")) == wanted]
    else:
        notes = [record for record in _records(run) if step_file(run.episodes, record["step"]) == path]
    known = [note["episodes_sha256"] for note in notes if "episodes_sha256" in note]
    return damage(path, known[-1]) if known else ""


def find_episode(path: Path, which: str, wanted: Wanted) -> tuple[int, dict[str, Any]]:
    """The episode of a file by number (counted from 0 among those wanted) or by task id, with its number.

    Raises ConfigError saying how many there are, or the nearest task id.
    """
    episodes = [
        episode
        for episode in read_episodes(path)
        if wanted.member in (None, episode.get("member")) and wanted.sample in (None, episode.get("sample"))
    ]
    if not episodes:
        raise ConfigError(f"{path} holds no episode of {_described(wanted)}")
    if which.isdecimal():
        if int(which) < len(episodes):
            return int(which), episodes[int(which)]
        raise ConfigError(f"episode {which}: {path.name} holds {len(episodes)}, numbered 0 to {len(episodes) - 1}")
    ids = [str(episode["task"]["id"]) for episode in episodes]
    if which in ids:
        return ids.index(which), episodes[ids.index(which)]
    near = suggest(which, list(dict.fromkeys(ids))[:5])
    raise ConfigError(f"episode {which!r}: a number from 0 to {len(ids) - 1} or a task id; {near}")


def _records(run: RunDirectory) -> list[dict[str, Any]]:
    try:
        return inspect_journal(run.journal).records
    except RunError:  # a damaged journal is told by whoever needs it whole
        return []


def _of_eval(run: RunDirectory, wanted: Wanted) -> Path:
    folders = {folder.name: folder for folder in list_evals(evals_folder(run.path))}
    if not folders:
        raise ConfigError(f"{run.path} has no evaluations; make one with: esagent eval {run.typed}")
    name = list(folders)[-1] if wanted.eval in (None, "latest") else str(wanted.eval)
    if name not in folders:
        raise ConfigError(f"evaluation {name!r}: {suggest(name, list(folders))}")
    return find_in_eval(folders[name], wanted)


def find_in_eval(folder: Path, wanted: Wanted) -> Path:
    """The file of an evaluation by `esagent eval` that holds the episodes of the wanted agent, by default the trained.

    Raises ConfigError naming what there is.
    """
    agents = [agent for agent in ("trained", "base") if (folder / episodes_name(agent, sampled=False)).exists()]
    agent = wanted.agent or (agents[0] if agents else "base")
    path = folder / episodes_name(agent, sampled=wanted.sample is not None)
    if not path.exists():
        there = sorted(p.name for p in folder.glob("*.jsonl.zst"))
        raise ConfigError(f"{folder} has no {path.name}; it has {', '.join(there) or 'no episodes'}")
    return path


def _one(wanted: int | None, steps: list[int], none: str, what: str) -> int:
    if not steps:
        raise ConfigError(none)
    if wanted is None:
        return steps[-1]
    if wanted not in steps:
        raise ConfigError(f"{what} {wanted} is not there; choose from {', '.join(map(str, steps))}")
    return wanted


def _files(run: RunDirectory) -> list[Path]:
    return sorted(run.episodes.iterdir()) if run.episodes.is_dir() else []


def _described(wanted: Wanted) -> str:
    given = {"member": wanted.member, "sample": wanted.sample}
    return " and ".join(f"{name} {value}" for name, value in given.items() if value is not None) or "anything"
