"""Is a run directory still the run it was started as? The manifest says which one that was.

manifest.json is written before anything else and never again. It holds the settings, the hash of the base weights and
the digest of the untrained state, and its checksum is what every other file of the run is bound to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from esagent.config.study import load_study
from esagent.errors import ConfigError, RunError
from esagent.runs.atomic import reporting, write_json
from esagent.runs.directory import RunDirectory
from esagent.runs.journal import Journal
from esagent.runs.jsonio import parse
from esagent.runs.seal import is_sound, sealed

_SHOWN = 12


@dataclass(frozen=True)
class Identity:
    """seal: checksum of the manifest, the owner of the run's records. digest: of the state before the first update."""

    seal: str
    digest: str


def write_manifest(run: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Write `manifest` with its checksum and return it so."""
    whole = sealed(manifest)
    write_json(run.manifest, whole)
    return whole


def read_manifest(run: RunDirectory) -> dict[str, Any]:
    """The manifest. Raises RunError when it is missing or not what was written: nothing vouches for the run then."""
    advice = "bring it back from a copy; without it nothing says what the other files belong to"
    try:
        with reporting("read", run.manifest):
            text = run.manifest.read_bytes() if run.manifest.exists() else None
        manifest = None if text is None else parse(text)
    except ValueError:
        manifest = {}
    if manifest is None:
        raise RunError(f"{run.manifest} is missing; {advice}")
    if not is_sound(manifest) or not {"config", "initial_digest", "model_hash"} <= manifest.keys():
        raise RunError(f"{run.manifest} is damaged: it is not what the run wrote; {advice}")
    found: dict[str, Any] = manifest
    return found


def identity(manifest: Mapping[str, Any]) -> Identity:
    """What the run's records are bound to."""
    return Identity(manifest["checksum"], manifest["initial_digest"])


def write_identity(
    run: RunDirectory, manifest: Mapping[str, Any], forked_from: Mapping[str, Any] | None = None
) -> Identity:
    """Write what every other file of a new run is bound to, the manifest, and an empty journal.

    The manifest says under which study the run was started, as its file is now. Raises ConfigError for an unsound one.
    """
    study = manifest["config"].get("study")
    named = {
        "run": f"{run.name}/{run.id}",
        **({"forked_from": forked_from} if forked_from else {}),
        **({"study": load_study(study).stamp} if study else {}),
        **manifest,
    }
    written = write_manifest(run, named)
    Journal(run.journal, written["checksum"]).close()
    return identity(written)


def read_settings(run: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What config.yaml holds now. Raises ConfigError when it cannot be read or lacks sections."""
    advice = "what was in it also stands under `config` in manifest.json"
    try:
        with reporting("read", run.config):
            settings = OmegaConf.to_container(OmegaConf.create(run.config.read_text()))
    except (YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{run.config} is damaged: it is not YAML ({reason}); {advice}") from error
    lost = [key for key in manifest["config"] if not isinstance(settings, dict) or key not in settings]
    if lost or not isinstance(settings, dict):
        raise ConfigError(f"{run.config} is damaged: it lacks {', '.join(lost)}; {advice}")
    return {str(key): value for key, value in settings.items()}


def require_settings(run: RunDirectory, manifest: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise ConfigError with one line per difference unless `settings` are those the run was started with."""
    found = changes(manifest["config"], settings)
    if found:
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        raise ConfigError(
            f"the settings of {run.path} are not those it was started with; undo the change, or go on with it as a new "
            f"run: esagent resume {run.typed} --fork",
            *found[:_SHOWN],
            *more,
        )


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line for each setting that differs, as in `budget.steps was 8, is 12`."""
    before, after = flat(old), flat(new)
    return [
        f"{path} was {_shown(before, path)}, is {_shown(after, path)}"
        for path in dict.fromkeys([*before, *after])
        if (path in before) != (path in after) or _differ(before.get(path), after.get(path))
    ]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted path -> value of every leaf."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _differ(before: Any, after: Any) -> bool:
    """1 and 1.0 are the same setting, 1 and true are not."""
    return bool(before != after) or isinstance(before, bool) != isinstance(after, bool)


def _shown(settings: Mapping[str, Any], path: str) -> str:
    return json.dumps(settings[path], default=str) if path in settings else "absent"
