"""Files and folders that a run's settings name relative to where it was started, found from anywhere.

The settings stay as they were typed, for by them a job's run is known; manifest.json says where that was.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esagent.config.export import from_dict, read_config, to_dict
from esagent.config.schema import Config
from esagent.models.catalog import CATALOG
from esagent.runs.directory import RunDirectory
from esagent.runs.jsonio import parse

_FILES = (("agent", "prompts"), ("task", "path"))


def located(settings: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run, with whatever its own folder of that time holds named in full.

    Modules that lie there become importable, behind all others. Where the process is in that folder, or it is no more,
    everything is left as it is.
    """
    found = {key: dict(value) if isinstance(value, Mapping) else value for key, value in settings.items()}
    home = Path(str(manifest.get("cwd") or ""))
    if not home.is_absolute() or not home.is_dir() or home == _here():
        return found
    if str(home) not in sys.path:
        sys.path.append(str(home))
    for group, name in _FILES:
        section = found.get(group)
        if isinstance(section, dict) and section.get(name) and (home / str(section[name])).exists():
            found[group][name] = str(home / str(section[name]))
    model = found.get("model")
    if isinstance(model, dict):
        text = str(model.get("name") if model.get("source") == "embedded" else model.get("source"))
        if text not in CATALOG and (home / text).is_dir():
            model["source"] = str(home / text)
    return found


def read_located(run: RunDirectory) -> Config:
    """The configuration in config.yaml, `located`. Raises ConfigError, one line, when it cannot be read."""
    config = read_config(run.config)
    try:
        manifest = parse(run.manifest.read_bytes())
    except (OSError, ValueError):  # told by whoever needs it whole
        return config
    return from_dict(located(to_dict(config), manifest)) if isinstance(manifest, Mapping) else config


def _here() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was deleted
        return None
