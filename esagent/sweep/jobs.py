"""The jobs of a sweep: arm, seed, and what is on the disk of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.config.export import job_key, to_dict
from esagent.config.overrides import quoted
from esagent.config.schema import Config
from esagent.errors import Interrupted, Preempted
from esagent.runs.matching import Match, find_runs, folder_of
from esagent.stats.arms import ONE_ARM, flatten, label_arms, pairing_problems
from esagent.sweep.folder import SweepFolder

_STOPPED = (Preempted.exit_code, Interrupted.exit_code)


@dataclass(frozen=True)
class Job:
    """One combination of a sweep. `index` is its place in the whole sweep, `key` identifies its configuration."""

    index: int
    overrides: tuple[str, ...]
    config: Config
    arm: str
    key: str

    @property
    def label(self) -> str:
        """Arm, where there are several, and seed."""
        return f"seed={self.config.seed}" if self.arm == ONE_ARM else f"{self.arm} seed={self.config.seed}"

    @property
    def plain_overrides(self) -> list[str]:
        """The overrides as a user types them."""
        return [item.removeprefix("++") for item in self.overrides]

    def to_dict(self) -> dict[str, Any]:
        """Arm, seed and overrides, for JSON."""
        return {"arm": self.arm, "seed": self.config.seed, "overrides": self.plain_overrides}


@dataclass(frozen=True)
class Outcome:
    """What became of a job. state: done, done before, failed, stopped (the same command goes on) or not started."""

    job: Job
    state: str
    exit_code: int | None = None
    seconds: float | None = None
    run: Path | None = None
    log: Path | None = None
    summary: dict[str, Any] | None = None

    def gain(self, split: str) -> float | None:
        """Gain on `split`, when there is a result."""
        found: float | None = ((self.summary or {}).get(split) or {}).get("gain")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            **self.job.to_dict(),
            "state": self.state,
            "exit_code": self.exit_code,
            "seconds": self.seconds,
            "pool_gain": self.gain("pool"),
            "heldout_gain": self.gain("heldout"),
            "run": self.run and str(self.run),
            "log": self.log and str(self.log),
            "summary": self.summary,
        }


def make_jobs(overrides: Sequence[Sequence[str]], configs: Sequence[Config]) -> list[Job]:
    """One job per distinct configuration, in order. Their overrides name the very start that their configuration does.

    Otherwise `init=latest` would be the job before, for all but the first.
    """
    keys = [job_key(config) for config in configs]
    first = [index for index, key in enumerate(keys) if key not in keys[:index]]
    arms = label_arms([flatten(to_dict(configs[index])) for index in first])
    return [
        Job(place, _from_its_start(overrides[index], configs[index]), configs[index], arm, keys[index])
        for place, (index, arm) in enumerate(zip(first, arms, strict=True))
    ]


def _from_its_start(overrides: Sequence[str], config: Config) -> tuple[str, ...]:
    if config.init is None:
        return tuple(overrides)
    others = [item for item in overrides if item.partition("=")[0] not in ("init", "init_state")]
    return (*others, f"init={quoted(config.init)}", f"init_state={config.init_state}")


def pairing(jobs: Sequence[Job]) -> list[str]:
    """What keeps the arms from being compared in pairs; empty when nothing does."""
    problems = pairing_problems([flatten(to_dict(job.config)) for job in jobs])
    seeds = {arm: {job.config.seed for job in jobs if job.arm == arm} for arm in arms_of(jobs)}
    every = set().union(*seeds.values())
    return problems + [
        f"not paired: {arm} lacks seed {', '.join(map(str, sorted(every - found)))}"
        for arm, found in seeds.items()
        if found != every
    ]


def arms_of(jobs: Sequence[Job]) -> list[str]:
    """The arms, in order."""
    return list(dict.fromkeys(job.arm for job in jobs))


def look_up(jobs: Sequence[Job]) -> dict[str, Match]:
    """The run directory of each job that has one, by key."""
    found: dict[str, Match] = {}
    for folder in dict.fromkeys(folder_of(job.config) for job in jobs):
        found |= find_runs(folder)
    return found


def outcomes(jobs: Sequence[Job], before: dict[str, Match], folder: SweepFolder | None) -> list[Outcome]:
    """What became of every job. before: the run directories at the start; folder: None when nothing was left to do."""
    after = look_up(jobs)
    return [_outcome(job, before.get(job.key), after.get(job.key), folder) for job in jobs]


def _outcome(job: Job, before: Match | None, after: Match | None, folder: SweepFolder | None) -> Outcome:
    run = after.run.path if after else None
    summary = after.summary if after else None
    if (before and before.finished) or folder is None:
        return Outcome(job, "done before", 0, (summary or {}).get("seconds"), run, None, summary)
    ended = folder.outcome(job.index)
    log = folder.log(job.index) if folder.log(job.index).exists() else None
    if ended is None and summary is None:
        return Outcome(job, "stopped" if log else "not started", None, None, run, log)
    code, seconds = (ended or {}).get("exit_code", 0), (ended or {}).get("seconds")
    if summary is not None and code == 0:
        return Outcome(job, "done", 0, summary.get("seconds"), run, log, summary)
    stopped = code in _STOPPED or (code < 0 and -code in folder.stop_requests())
    return Outcome(job, "stopped" if stopped else "failed", code, seconds, run, log)
