"""Single settings changed in a configuration that is already composed, that of a run: `budget.steps=8 seed=1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from esagent.config.names import GROUPS
from esagent.config.overrides import screen
from esagent.config.paths import free_prefix
from esagent.errors import ConfigError


def changed(settings: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """`settings` with `overrides` put in. Raises ConfigError with one line per override that does not fit.

    Groups are refused: an option of a group stands for many settings at once, of which a run keeps only the outcome.
    """
    if not overrides:
        return dict(settings)
    groups = [raw for raw in overrides if raw.partition("=")[0] in (*GROUPS, "hydra")]
    screened = screen([raw for raw in overrides if raw not in groups], lambda group: [], multirun=False)
    problems = [f"{raw}: a run that exists takes single settings, as in budget.steps=8" for raw in groups]
    problems += [f"{raw}: a run that exists takes none of Hydra's own settings" for raw in screened.foreign]
    problems += screened.problems
    if problems:
        raise ConfigError(*problems)
    made = OmegaConf.create(dict(settings))
    parser = OverridesParser.create()
    for raw in screened.accepted:
        override = parser.parse_override(raw)
        OmegaConf.update(
            made, override.key_or_group, override.value(), force_add=bool(free_prefix(override.key_or_group))
        )
    found: dict[str, Any] = OmegaConf.to_container(made)  # type: ignore[assignment]
    return found
