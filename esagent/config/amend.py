"""The configuration of a run, changed where a command allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from omegaconf import OmegaConf

from esagent.config.check import check
from esagent.config.compose import CONFIG_NAME, engine, screen_overrides
from esagent.config.export import from_dict, to_dict
from esagent.config.names import GROUPS
from esagent.config.schema import Config
from esagent.errors import ConfigError


def amend(
    config: Config, overrides: Sequence[str], config_dir: Path | None, changeable: Sequence[str], command: str
) -> Config:
    """`config` with `overrides` applied and checked.

    changeable: the groups and keys that may be changed, each with everything below it. A group option (`task=jsonl`)
    replaces the whole group by what conf/ says. Raises ConfigError with every problem found, in the name of `command`.
    """
    with engine(config_dir) as hydra:
        screened = screen_overrides(hydra, overrides)
        problems = list(screened.problems)
        told = tuple(problem.partition(":")[0].partition("=")[0] for problem in problems)
        problems += [
            f"{key}: {command} keeps what a run was trained with; it can change {', '.join(changeable)}"
            for key in map(_key, overrides)
            if key not in told and not any(key == known or key.startswith(f"{known}.") for known in changeable)
        ]
        if problems:
            raise ConfigError(*problems)
        composed: Any = hydra_compose(CONFIG_NAME, overrides=screened.accepted)
        changed: Any = OmegaConf.create(to_dict(config))
        keys = [_key(item) for item in screened.accepted]
        for key in sorted(keys, key=lambda key: key not in GROUPS):  # a group first, then keys in it
            OmegaConf.update(changed, key, OmegaConf.select(composed, key), merge=False, force_add=True)
        amended = from_dict(OmegaConf.to_container(changed))  # type: ignore[arg-type]
    check(replace(amended, study=None))  # what a study declares is about training, and its file may be gone
    return amended


def _key(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]
