"""`esagent export`: one state of a run as a folder that other programs load."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from esagent.agents.registry import prompts_folder
from esagent.config.export import to_dict
from esagent.config.names import EXPORT_FORMATS, WEIGHT_SPACES
from esagent.config.nearest import suggest
from esagent.config.schema import Positions
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.runs.atomic import reporting
from esagent.runs.directory import RunDirectory
from esagent.runs.export import hf, hooks, peft
from esagent.runs.export.draft import drafted
from esagent.runs.export.page import page
from esagent.runs.export.trained import Trained, load_trained
from esagent.runs.states import State, find_state

_FACTS = "export.json"

_WRITE: Mapping[str, Callable[[Trained, Path], None]] = {"peft": peft.write, "hf": hf.write, "hooks": hooks.write}


def export(run: RunDirectory, format: str | None, wanted: str, output: Path | None) -> dict[str, Any]:
    """Write the state `wanted` of `run` to the new folder `output` and return what was written.

    format: peft, hf or hooks; None: hf where the model itself was trained, else peft where it can say what was, else
    hooks. output: None is a folder in
    the run directory. The folder appears whole or not at all.
    Raises ConfigError for a state, format or folder that does not go, EnvironmentFailure when the model is missing or
    the disk does not take the files.
    """
    if format is not None and format not in EXPORT_FORMATS:
        raise ConfigError(f"--format {format}: {suggest(format, EXPORT_FORMATS)}")
    state = find_state(run, wanted)
    only = state.config.space.positions is Positions.answer
    moved = state.config.space.name in WEIGHT_SPACES
    format = format or ("hf" if moved else "hooks" if only else "peft")
    if moved and format != "hf":
        name = state.config.space.name
        raise ConfigError(f"--format {format}: space={name} moved the model's own weights; use --format hf")
    if format == "peft":
        peft.refuse(only)
    output = output or run.path / "exports" / f"{format}-{state.step:06d}"
    _check_free(output)
    trained = load_trained(state)
    if format == "hf" and not moved:
        hf.refuse(only, trained.agent.modules)
    _write(trained, format, output)
    return {
        "format": format,
        "output": str(output),
        "run": str(run.path),
        "state": state.step,
        "digest": trained.digest,
        "modules": list(trained.trained_modules),
        "base": trained.source,
        "files": sorted(str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()),
    }


def _check_free(output: Path) -> None:
    try:
        # The folder one stands in cannot be put in the place of another, not even when it is empty.
        taken = output.exists() and (not output.is_dir() or any(output.iterdir()) or output.samefile(Path.cwd()))
    except OSError as error:
        raise ConfigError(f"--output {output}: {error.strerror}") from error
    if taken:
        raise ConfigError(f"--output {output}: is there already; name another folder, or delete that one")


def _write(trained: Trained, format: str, output: Path) -> None:
    made = [folder for folder in (output.parent, *output.parent.parents) if not folder.exists()]
    try:
        with reporting("write", output), drafted(output) as draft:
            facts = describe(trained, format)
            (draft / _FACTS).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
            (draft / "README.md").write_text(page(facts))
            _copy_prompts(trained.state, trained.agent.modules, draft / "prompts")
            try:
                _WRITE[format](trained, draft)
            except SafetensorError as error:  # how safetensors reports a disk that is full
                raise EnvironmentFailure(f"cannot write {output}: {error}") from error
            _open_to_others(draft)
    except BaseException:
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise


def _open_to_others(folder: Path) -> None:
    """Give all files the mode that the umask gives, for safetensors makes its own for their owner alone."""
    mode = stat.S_IMODE((folder / _FACTS).stat().st_mode)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(mode)


def describe(trained: Trained, format: str) -> dict[str, Any]:
    """What export.json says."""
    state, config = trained.state, to_dict(trained.state.config)
    return {
        "format": format,
        "run": str(state.run.path.resolve()),
        "state": state.step,
        "digest": trained.digest,
        "base": {
            "name": trained.base.name,
            "source": trained.source,
            "revision": trained.base.revision,
            "sha256": trained.base.hash,
        },
        "modules": list(trained.agent.modules),
        "trained_modules": list(trained.trained_modules),
        "positions": config["space"]["positions"],
        "space": config["space"],
        "agent": config["agent"],
        "prompt_style": trained.style.value,
        "run_dtype": state.manifest.get("dtype"),
        "versions": state.manifest.get("versions", {}),
    }


def _copy_prompts(state: State, modules: Sequence[str], folder: Path) -> None:
    """The prompt files of the agent's modules, where the agent is one that ships."""
    source = prompts_folder(state.config.agent)
    if source is None:
        return
    folder.mkdir()
    for module in modules:
        shutil.copyfile(source / f"{module}.txt", folder / f"{module}.txt")
