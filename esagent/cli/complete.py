"""Shell completion of arguments: settings with their groups, options and values, and runs. Loads nothing heavy."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import typer

from esagent.config.names import EVAL_SETTINGS, GROUPS, SPLIT_NAMES, SPLITS, TASK_SPLITS
from esagent.config.paths import schema_paths

_EVAL_OPTIONS = ("state", "split", "n", "k", "temperature")
_TASK_OPTIONS = ("split", "n")

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


def complete_evaluated(ctx: typer.Context, incomplete: str) -> list[str]:
    """For `eval`: a run, then the settings that its evaluation may change; without a run, any; and what to evaluate."""
    named = any("=" not in text for text in ctx.params.get("what") or ())
    if "=" in incomplete:
        key, _, value = incomplete.partition("=")
        own = {"split": (*SPLITS, *SPLIT_NAMES), "state": ("best", "last")}.get(key)
        if own is not None:
            return [f"{key}={choice}" for choice in own if choice.startswith(value)]
        return complete_setting(ctx, incomplete)
    offered = complete_setting(ctx, incomplete)
    if named:
        offered = [text for text in offered if _is_below(text.partition("=")[0], EVAL_SETTINGS)]
    options = [f"{name}=" for name in _EVAL_OPTIONS if name.startswith(incomplete)]
    return [*([] if named else complete_run(incomplete)), *options, *offered]


def complete_run(incomplete: str) -> list[str]:
    """Runs below ./runs, newest first, and `latest`."""
    names = [f"{path.parent.name}/{path.name}" for path in _runs()]
    return _starting(incomplete, ["latest", *names] if names else [])


def complete_listed(incomplete: str) -> list[str]:
    """For `ls`: `tasks`, and folders."""
    folders = (f"{path.name}/" for path in sorted(Path(incomplete or ".").parent.glob("*")) if path.is_dir())
    above = incomplete.rpartition("/")[0]
    return _starting(incomplete, ["tasks", *(f"{above}/{name}" if above else name for name in folders)])


def complete_shown(ctx: typer.Context, incomplete: str) -> list[str]:
    """For `show`: runs, and the evaluations of bare models, as eval/<id>; or task= and then a family's settings."""
    given = ctx.params.get("what") or ()
    if incomplete.partition("=")[0] in _TASK_OPTIONS and "=" in incomplete:
        return _starting(incomplete, [f"split={name}" for name in (*TASK_SPLITS, *SPLIT_NAMES)])
    if any(text.startswith("task") for text in given):
        offered = [text for text in complete_setting(ctx, incomplete) if text.startswith(("task.", "seed"))]
        return [*(f"{name}=" for name in _TASK_OPTIONS if name.startswith(incomplete)), *offered]
    if given:
        return []
    if "=" in incomplete:
        return complete_setting(ctx, incomplete)
    evaluations = sorted(Path("runs", "eval").glob("*/eval.json"), reverse=True)
    found = [*complete_run(incomplete), *_starting(incomplete, [f"eval/{path.parent.name}" for path in evaluations])]
    return [*found, *_starting(incomplete, ["task="])]


def complete_study(incomplete: str) -> list[str]:
    """For `stats`: names of studies below ./runs, and runs."""
    runs = _runs()
    names = sorted({path.parent.name for path in runs})
    return _starting(incomplete, [*names, *(f"{path.parent.name}/{path.name}" for path in runs)])


def complete_eval(ctx: typer.Context, incomplete: str) -> list[str]:
    """Evaluations of the run that was named, newest first, and `latest`."""
    # An option that still lacks its value ends the reading of arguments; what was read is in ctx.args then.
    named = str(next(iter(ctx.params.get("what") or ctx.args), ""))
    runs = [path for path in _runs() if named in (path.name, f"{path.parent.name}/{path.name}")]
    folder = next(iter(_runs() if named == "latest" else runs), Path(named))
    found = sorted((path.parent.name for path in folder.glob("evals/*/eval.json")), reverse=True)
    return _starting(incomplete, ["latest", *found] if found else [])


def choices(*names: str) -> Callable[[str], list[str]]:
    """Completion of an option that takes one of `names`."""
    return lambda incomplete: _starting(incomplete, names)


def _runs() -> list[Path]:
    """Folders of the runs below ./runs, newest first."""
    return sorted((path.parent for path in Path("runs").glob("*/*/config.yaml")), key=lambda p: p.name, reverse=True)


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _is_below(path: str, known: Iterable[str]) -> bool:
    """Whether `path` is one of the groups and keys in `known`, or lies in one."""
    return any(path == name or path.startswith(f"{name}.") for name in known)


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
    places = [files("esagent.conf") / group, *([] if own is None else [Path(own) / group])]
    return {name for place in places if place.is_dir() for name in _files(place)}


def _files(folder: Traversable, above: str = "") -> Iterator[str]:
    """The configurations in `folder`, those in folders of their own by their path."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{above}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            yield above + entry.name.removesuffix(".yaml")


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
