"""Every moment at which a run may die, by name, and how to die there: a real SIGKILL by the process itself.

Nothing in esagent knows of this: the child that is to die wraps the functions of the boundary, and then works as ever.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import esagent.runs.atomic as atomic

Boundary = Callable[[], None]


def arm(name: str) -> None:
    """From now on this process kills itself when it comes to the boundary `name`."""
    BOUNDARIES[name]()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace `owner.name` by around(original, *arguments)."""
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        return around(original, *arguments, **named)

    setattr(owner, name, wrapped)


def _owner(where: str) -> tuple[Any, str]:
    module, _, path = where.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name


def _at(where: str, moment: str, when: Callable[..., bool] = lambda *arguments: True, call: int = 1) -> Boundary:
    """Die before or after the `call`-th call of `where` ("module:name", "module:Class.name") that `when` is true of."""

    def boundary() -> None:
        owner, name = _owner(where)
        seen = []

        def around(original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            if not when(*arguments):
                return original(*arguments, **named)
            seen.append(1)
            if len(seen) == call and moment == "before":
                die()
            result = original(*arguments, **named)
            if len(seen) == call and moment == "after":
                die()
            return result

        _wrap(owner, name, around)

    return boundary


def _half(target: str) -> Boundary:
    """Die with half of the file `target` written under its temporary name."""

    def is_it(path: Any) -> bool:
        return Path(path).name.startswith(".tmp-") and Path(path).name.endswith(f"-{target}")

    def write_bytes(original: Callable[..., Any], path: Path, data: bytes) -> Any:
        if is_it(path):
            original(path, data[: len(data) // 2])
            die()
        return original(path, data)

    def save_file(original: Callable[..., Any], tensors: Any, path: Path) -> Any:
        original(tensors, path)
        if is_it(path):
            os.truncate(path, Path(path).stat().st_size // 2)
            die()

    def boundary() -> None:
        _wrap(Path, "write_bytes", write_bytes)
        _wrap(importlib.import_module("esagent.spaces.parameters"), "save_file", save_file)

    return boundary


def _renamed(moment: str, target: str) -> Boundary:
    return _at("os:replace", moment, lambda _, destination: Path(destination).name == target)


def _synced(target: str) -> Boundary:
    """Die when the folder was synced after `target` had got its name."""

    def boundary() -> None:
        named = []

        def replace(original: Callable[..., Any], source: Any, destination: Any) -> None:
            original(source, destination)
            named.append(Path(destination).name)

        def sync_folder(original: Callable[..., Any], folder: Path) -> None:
            original(folder)
            if named and named[-1] == target:
                die()

        _wrap(os, "replace", replace)
        _wrap(atomic, "sync_folder", sync_folder)

    return boundary


def _half_a_line(where: str, when: Callable[..., bool], path_of: Callable[..., Path]) -> Boundary:
    """Die with half of a line behind the whole ones."""

    def boundary() -> None:
        owner, name = _owner(where)

        def around(original: Callable[..., Any], *arguments: Any) -> Any:
            if not when(*arguments):
                return original(*arguments)
            file = path_of(*arguments)
            before = file.stat().st_size if file.exists() else 0
            original(*arguments)
            os.truncate(file, (before + file.stat().st_size) // 2)
            return die()

        _wrap(owner, name, around)

    return boundary


def _is_step(_: Any, row: Any) -> bool:
    return bool(row["step"] == 1)


def _is_evaluation(_: Any, row: Any) -> bool:
    return bool((row["step"], row["split"]) == (2, "pool"))


def _file(target: str) -> dict[str, Boundary]:
    """The four moments of a file that is written under another name first."""
    return {
        f"within {target}": _half(target),
        f"before the rename of {target}": _renamed("before", target),
        f"between rename and sync of {target}": _renamed("after", target),
        f"after the sync of {target}": _synced(target),
    }


JOURNAL = "esagent.runs.journal:Journal.append"
HF = "esagent.backends.hf.backend:HFBackend"

BEGINNING: dict[str, Boundary] = {
    "while making the folder": _at("esagent.runs.identity:write_manifest", "before"),
    **_file("manifest.json"),
    "between manifest and journal": _at("esagent.runs.identity:write_manifest", "after"),
    "within config.yaml": _half("config.yaml"),
    "before the rename of config.yaml": _renamed("before", "config.yaml"),
}
"""Before config.yaml has its name there is no run: what is left is a folder that does not count."""

RUNNING: dict[str, Boundary] = {
    "between rename and sync of config.yaml": _renamed("after", "config.yaml"),
    "with the lock just taken": _at("esagent.train:recover", "before"),
    "recovered, before anything else": _at("esagent.train:recover", "after"),
    **_file("step-000000.safetensors"),
    **_file("step-000000.json"),
    **_file("eval-000000-pool.jsonl.zst"),
    "while answering requests": _at(f"{HF}.generate", "before", call=2),
    "before an update": _at(f"{HF}.apply", "before"),
    "after an update": _at(f"{HF}.apply", "after"),
    **_file("step-000001.jsonl.zst"),
    "before a step's row of metrics": _at("esagent.train:append_row", "before", _is_step),
    "within a step's row of metrics": _half_a_line("esagent.train:append_row", _is_step, lambda path, _: path),
    "between a step's row and its record": _at("esagent.train:append_row", "after", _is_step),
    "before a record": _at(JOURNAL, "before", _is_step),
    "within a record": _half_a_line(JOURNAL, _is_step, lambda journal, _: journal.path),
    "after a record": _at(JOURNAL, "after", _is_step),
    **_file("step-000002.safetensors"),
    **_file("step-000002.json"),
    **_file("eval-000002-pool.jsonl.zst"),
    "before an evaluation's row": _at("esagent.evaluate:append_row", "before", _is_evaluation),
    "within an evaluation's row": _half_a_line("esagent.evaluate:append_row", _is_evaluation, lambda path, _: path),
    "after an evaluation's row": _at("esagent.evaluate:append_row", "after", _is_evaluation),
    "before old snapshots are deleted": _at("esagent.train:prune", "before"),
    "between a note's deletion and its snapshot's": _at("pathlib:Path.unlink", "after", lambda p: p.suffix == ".json"),
    "after old snapshots are deleted": _at("esagent.train:prune", "after"),
    **_file("summary.json"),
    "before the curve": _at("esagent.train:save_curve", "before"),
    "between the two curves": _renamed("after", "curve.svg"),
    "after the curve": _at("esagent.train:save_curve", "after"),
}
"""In the order in which a run of four steps comes to them."""

ENDING = {name: RUNNING.pop(name) for name in ("between rename and sync of summary.json",)}
"""After it the run is finished, and would not come to the later ones of a summary again."""

BOUNDARIES = BEGINNING | RUNNING | ENDING
