"""Shell completion of arguments: settings with their groups, options and values, and runs. Loads nothing heavy."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from enum import Enum
from importlib.resources import files
from pathlib import Path

import typer

from esagent.config.names import GROUPS
from esagent.config.paths import schema_paths

VARIABLE = "_ESAGENT_COMPLETE"
"""Set by the shell's completion script, to its own name."""


def complete_setting(ctx: typer.Context, incomplete: str) -> list[str]:
    """`bud` -> budget=default, budget=quick; `budget.s` -> its keys; `space.positions=` -> its values."""
    key, equals, value = incomplete.partition("=")
    if equals:
        return [f"{key}={choice}" for choice in _choices(key, ctx, value)]
    keys = [name for name in (*GROUPS, *_single_values()) if name.startswith(key)]
    if len(keys) > 1:
        return [f"{name}=" for name in keys]
    # Alone, `model=` would be taken for a finished word, so its choices are shown at once.
    return [
        text for name in keys for text in [f"{name}={choice}" for choice in _choices(name, ctx, "")] or [f"{name}="]
    ]


def complete_run(incomplete: str) -> list[str]:
    """Runs below ./runs, newest first, and `latest`."""
    found = sorted((path.parent for path in Path("runs").glob("*/*/config.yaml")), key=lambda p: p.name, reverse=True)
    names = ["latest", *(f"{p.parent.name}/{p.name}" for p in found)] if found else []
    return [name for name in names if name.startswith(incomplete)]


def _single_values() -> list[str]:
    sections = {path.rpartition(".")[0] for path in schema_paths()}
    return [path for path in schema_paths() if path not in sections]


def _choices(key: str, ctx: typer.Context, value: str) -> list[str]:
    """What `key=` can be set to, where that can be listed."""
    if key == "init":
        return complete_run(value)
    if key in GROUPS:
        return sorted(_options(key, ctx.params.get("config_dir")))
    kind = schema_paths().get(key)
    if kind is bool:
        return ["true", "false"]
    return [str(item.value) for item in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _options(group: str, own: str | Path | None) -> set[str]:
    """The files of a group, the shipped ones and those of `--config-dir`."""
    names = {entry.name for entry in (files("esagent.conf") / group).iterdir()}
    if own is not None:
        names |= {path.name for path in (Path(own) / group).glob("*.yaml")}
    return {name.removesuffix(".yaml") for name in names if name.endswith(".yaml")}


@contextlib.contextmanager
def whole_words() -> Iterator[None]:
    """Within: a completion asked for by bash sees `key=value` as one word.

    bash breaks words at = and :, and replaces the last piece alone by what completion prints.
    """
    if os.environ.get(VARIABLE) != "complete_bash" or "COMP_WORDS" not in os.environ:
        yield
        return
    words, at, broken = _joined(os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"]))
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(at)
    lead = re.match(r".*[=:]|", words[at] if at < len(words) else "")[0] if broken else ""  # type: ignore[index]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        sys.stdout.write("".join(f"{line.removeprefix(lead)}\n" for line in printed.getvalue().splitlines()))


def _joined(pieces: list[str], current: int) -> tuple[list[str], int, bool]:
    """Whole words up to the cursor, the number of the one at the cursor, and whether bash had broken it."""
    words: list[str] = []
    broken = join = False
    for piece in pieces[: current + 1]:
        separator = piece in ("=", ":")
        broken = bool(words) and (separator or join)
        if broken:
            words[-1] += piece
        else:
            words.append(piece)
        join = separator
    return words, len(words) - 1, broken
