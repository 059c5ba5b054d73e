"""A configuration as plain data: for run directories, digests and the way back."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from esagent.config.schema import Config
from esagent.errors import ConfigError


def to_dict(config: Config) -> dict[str, Any]:
    """Plain nested data: enums by value, everything else as JSON and YAML know it."""
    return {item.name: _plain(getattr(config, item.name)) for item in dataclasses.fields(config)}


def from_dict(data: Mapping[str, Any]) -> Config:
    """The way back. Raises ConfigError, one line, when a key or a type does not fit the schema."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), dict(data)))
    except OmegaConfBaseException as error:
        raise ConfigError(" ".join(str(error).split("\n")[0].split())) from error
    if not isinstance(config, Config):
        raise ConfigError("not a configuration of esagent")
    return config


def as_yaml(config: Config) -> str:
    """The content of config.yaml."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(to_dict(config)))


def read_config(path: Path) -> Config:
    """The configuration in a run directory's config.yaml. Raises ConfigError, one line, when it cannot be read."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        data = OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(data, Mapping) or not data:
        raise ConfigError(f"{path} holds no configuration")
    try:
        return from_dict({str(key): value for key, value in data.items()})
    except ConfigError as error:
        raise ConfigError(*(f"{path}: {problem}" for problem in error.problems)) from error


def digest(config: Config) -> str:
    """SHA-256 of the canonical JSON (sorted keys, no spaces): equal exactly when every setting is."""
    canonical = json.dumps(to_dict(config), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def job_key(config: Config) -> str:
    """SHA-256 of the settings that a run's numbers follow from: all but the folder that it is written to."""
    return digest(dataclasses.replace(config, runs_dir=""))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
