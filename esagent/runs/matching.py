"""Which run directory belongs to a configuration, so that no job is done twice and an unfinished one goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from esagent.config.export import from_dict, job_key
from esagent.config.schema import Config
from esagent.errors import ConfigError
from esagent.runs.directory import PREEMPTED, RunDirectory
from esagent.runs.jsonio import parse


@dataclass(frozen=True)
class Match:
    """A run of the wanted configuration."""

    run: RunDirectory

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """The result; None while there is none, or none that can be read."""
        try:
            summary = parse(self.run.summary.read_bytes())
        except (OSError, ValueError):
            return None
        return summary if isinstance(summary, dict) else None

    @property
    def finished(self) -> bool:
        """Whether the run has its result."""
        return self.summary is not None


def folder_of(config: Config) -> Path:
    """Where runs of `config` lie: runs_dir/name."""
    return Path(config.runs_dir).expanduser() / config.name


def find_runs(folder: Path) -> dict[str, Match]:
    """The run in `folder` of every configuration, by the key of the latter (`job_key`).

    Of several a finished one counts before an unfinished one, then the latest. Passed over are runs whose config.yaml
    cannot be read, and forks: their first steps were made with other settings than it says.
    """
    return _index(folder.glob("*/config.yaml"))


def find_preempted(config: Config) -> RunDirectory | None:
    """The latest run of `config` that a scheduler stopped before it was finished."""
    markers = folder_of(config).glob(f"*/{PREEMPTED}")
    match = _index(marker.with_name("config.yaml") for marker in markers).get(job_key(config))
    return match.run if match and not match.finished else None


def forked_from(run: Path) -> dict[str, Any]:
    """What manifest.json says of the run that this one was forked from; empty when it was not."""
    try:
        found = parse((run / "manifest.json").read_bytes()).get("forked_from")
    except (OSError, ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _index(configs: Iterable[Path]) -> dict[str, Match]:
    found = [(Match(RunDirectory(path.parent)), _key(path)) for path in configs if not forked_from(path.parent)]
    found.sort(key=lambda pair: (pair[0].finished, pair[0].run.id))
    return {name: match for match, name in found if name is not None}


def _key(path: Path) -> str | None:
    try:
        settings = yaml.safe_load(path.read_text())
        return job_key(from_dict(settings)) if isinstance(settings, dict) else None
    except (OSError, ValueError, yaml.YAMLError, RecursionError, ConfigError):
        return None
