"""Command-line overrides, looked at one by one before Hydra composes them, so that every mistake is told at once.

Hydra alone would let `+sigmaa=3` past the schema and stop at the first error; here + ++ ~ are kept to `hydra.*`, and
every key, group option and type is held to the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from esagent.config.files import is_folder
from esagent.config.names import GROUPS
from esagent.config.nearest import suggest, suggest_path
from esagent.config.paths import free_prefix, schema_paths
from esagent.config.schema import Config

_SWEPT = "hydra.sweeper.params"
"""The grid of an experiment file. Hydra takes it from a command line with ++ and quotes alone."""

_EXPECTED = re.compile(r" expecting \{.*\}")  # every token of the grammar that could have stood there

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


@dataclass
class Screened:
    """accepted: overrides as Hydra shall see them; foreign: those of them that set Hydra itself (`hydra.*`).

    problems: one line for each override that Hydra shall not see.
    """

    accepted: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def screen(overrides: Sequence[str], options: Callable[[str], list[str]], *, multirun: bool) -> Screened:
    """Check each override by itself. `options(group)` lists what a group can be set to.

    Two forms are translated: `model=<hub id or folder>` to the group option `custom` with its source, and free-form
    mappings and their keys (`task.options.size=3`) to the `++` that Hydra wants for keys the schema does not list.
    """
    result = Screened()
    extended = any(raw.startswith("hydra.searchpath") for raw in overrides)
    parser = OverridesParser.create()
    for raw in map(_word, overrides):
        try:
            override = parser.parse_override(raw)
        except HydraException as error:
            reason = _EXPECTED.sub("", one_line(str(error)))
            result.problems.append(f"{raw!r}: not an override; write key=value and quote special characters ({reason})")
            continue
        key = override.key_or_group
        if key == "hydra" or override.is_hydra_override():
            if f"{key}.".startswith(f"{_SWEPT}.") and override.type is not OverrideType.DEL:
                result.problems.append(
                    f"{raw}: {_SWEPT} is for experiment files; on the command line write the values themselves, as in "
                    "seed=0,1,2"
                )
                continue
            result.accepted.append(raw)
            result.foreign.append(raw)
            continue
        problem = _form(override, multirun)
        if not problem and key in GROUPS:
            translated = _custom_model(override, options("model")) if key == "model" else []
            if translated:
                result.accepted[:0] = translated  # first, so that model.* overrides still win
                continue
            if key == "experiment" and override.value() is None:
                continue  # no experiment, which Hydra has no word for
            problem = None if extended else _option(override, options(key))
        elif not problem:
            problem = _value(override)
        if problem:
            result.problems.append(problem)
        else:
            result.accepted.append(f"++{raw}" if free_prefix(key) else raw)
    return result


def _word(raw: str) -> str:
    """`guards=off` is the word, not the truth value that YAML and Hydra read it as."""
    key, _, value = raw.partition("=")
    kind = schema_paths().get(key)
    choices = [choice.value for choice in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []
    if value in choices and value in ("on", "off", "yes", "no"):
        return f"{key}={quoted(value)}"
    return raw


def one_line(text: str) -> str:
    """The first sentence-like line of a library's message, without line breaks."""
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "no reason given")


def _form(override: Override, multirun: bool) -> str | None:
    raw, key = str(override.input_line), override.key_or_group
    if override.type is not OverrideType.CHANGE:
        known = key in GROUPS or key in schema_paths() or free_prefix(key)
        hint = f"write {key}=..." if known else suggest_path(key, list(schema_paths()))
        return f"{raw}: + ++ and ~ are for hydra.* only; {hint}"
    if override.package is not None:
        return f"{raw}: packages (@) are not used here; write {key or 'key'}=..."
    if not override.is_sweep_override():
        return None
    if not multirun:
        return f"{raw}: several values need -m; for one value with a comma quote it, as in {key}='\"a,b\"'"
    return None if override.is_discrete_sweep() else f"{raw}: an interval cannot be enumerated; use choice or range"


def _custom_model(override: Override, known: list[str]) -> list[str]:
    """`model=<hub id or folder>` in Hydra's terms; empty when it is neither or is an option of the group."""
    value = override.value()
    if override.is_sweep_override() or not isinstance(value, str) or value in known:
        return []
    if not (_HUB_ID.fullmatch(value) or value.startswith(("/", "./", "../", "~")) or (value and is_folder(value))):
        return []
    source = value if "/" in value else f"./{value}"
    name = re.sub(r"[^\w.-]+", "-", Path(value).name).strip("-") or "custom"
    return ["model=custom", f"model.source={quoted(source)}", f"model.name={quoted(name)}"]


def quoted(text: str) -> str:
    """A string as Hydra's grammar quotes it: a quote is escaped, and so is a backslash in front of a quote."""
    escaped = re.sub(r"(\\*)('|$)", lambda m: m[1] * 2 + (r"\'" if m[2] else ""), text)
    return f"'{escaped}'"


def _option(override: Override, known: list[str]) -> str | None:
    key = override.key_or_group
    for value in _values(override):
        if isinstance(value, str) and value in known:
            continue
        if key == "model" and isinstance(value, str) and "/" in value and override.is_sweep_override():
            return f"model={value}: sweep hub ids as model=custom model.source={value},..."
        more = ", a hub id or a folder" if key == "model" else ""
        shown = "null" if value is None else value
        return f"{key}={shown}: not an option of {key}; {suggest(str(value), known)}{more}"
    return None


def _value(override: Override) -> str | None:
    key = override.key_or_group
    if key not in schema_paths() and not free_prefix(key):
        return f"{key or override.input_line}: no such key; {suggest_path(key, list(schema_paths()))}"
    for value in _values(override):
        try:
            OmegaConf.update(OmegaConf.structured(Config), key, value, force_add=bool(free_prefix(key)))
        except (OmegaConfBaseException, TypeError, ValueError) as error:
            shown = override.get_value_element_as_str() if not override.is_sweep_override() else value
            return f"{key}={shown}: {one_line(str(error))}"
    return None


def _values(override: Override) -> list[Any]:
    """All values an override stands for. A glob is left to Hydra, which knows what it may match."""
    if not override.is_sweep_override():
        return [override.value()]
    try:
        return [Override._convert_value(value) for value in override.sweep_iterator()]
    except HydraException:
        return []
