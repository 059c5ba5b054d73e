"""Every shipped configuration composes, and the commands in its header are right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from esagent.cli.bridge import expand
from esagent.config import names
from esagent.config.compose import compose
from esagent.config.export import to_dict

CONF = Path(__file__).parents[2] / "conf"
FILES = sorted(CONF.rglob("*.yaml"))
LAUNCHERS = sorted((CONF / "hydra" / "launcher").glob("*.yaml"))


def header(path: Path) -> str:
    return "".join(line for line in path.read_text().splitlines(keepends=True) if line.startswith("#"))


def commands(path: Path) -> list[list[str]]:
    """Overrides of every command in the header, options left out."""
    lines = re.findall(r"^# (?:Run|Override|Plan): +(esagent (?:train|sweep).*)$", header(path), flags=re.M)
    return [[word for word in shlex.split(line)[2:] if not word.startswith("-")] for line in lines]


def test_all_groups_are_found() -> None:
    folders = {path.relative_to(CONF).parts[0] for path in FILES if path.parent != CONF}
    assert folders == {*names.GROUPS, "hydra"}
    assert len(FILES) >= 24


@pytest.mark.parametrize("path", [p for p in FILES if p not in LAUNCHERS], ids=lambda path: str(path.relative_to(CONF)))
def test_composes_and_its_header_commands_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "questions.jsonl").write_text("")
    monkeypatch.chdir(tmp_path)
    assert "# Needs:" in header(path)
    found = commands(path)
    assert len(found) >= 2, "a header shows the command to run and an override"
    configs = [compose(overrides) for overrides in found]
    assert to_dict(configs[0]) != to_dict(configs[1]), "the override example changes nothing"
    if path.parent != CONF:
        group = path.relative_to(CONF).parts[0]
        option = path.relative_to(CONF / group).with_suffix("").as_posix()
        chosen = {f"{group}={option}", "model=Qwen/Qwen2.5-0.5B-Instruct"}
        assert all(chosen & set(overrides) for overrides in found), f"the commands do not use {group}={option}"


@pytest.mark.parametrize("path", LAUNCHERS, ids=lambda path: path.stem)
def test_a_launcher_composes_and_its_header_commands_run(path: Path) -> None:
    assert "# Needs:" in header(path)
    found = commands(path)
    assert len(found) >= 2, "a header shows the command to run and an override"
    grids = [expand(overrides, None) for overrides in found]
    assert all(f"hydra/launcher={path.stem}" in overrides for overrides in found)
    assert (grids[0].jobs, grids[0].base) != (grids[1].jobs, grids[1].base), "the override example changes nothing"
    assert len(grids[0].jobs) == 12


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.parent.name in {"agent", "task", "algorithm", "allocation", "space"}]
)
def test_a_file_is_named_after_what_it_builds(path: Path) -> None:
    assert re.search(rf"^ *name: {path.stem}$", path.read_text(), flags=re.M)


def test_a_users_folder_adds_options_and_wins_over_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "budget").mkdir()
    (tmp_path / "budget" / "mine.yaml").write_text("steps: 7\ntasks_per_step: 2\n")
    (tmp_path / "budget" / "quick.yaml").write_text("steps: 9\n")
    assert compose(["budget=mine"], tmp_path).budget.steps == 7
    assert compose(["budget=quick"], tmp_path).budget.steps == 9
    assert compose(["budget=quick"]).budget.steps != 9


def test_no_experiment_is_the_default() -> None:
    assert compose(["experiment=null", "seed=1"]) == compose(["seed=1"])
    assert len(expand(["experiment=null", "seed=0,1"], None).jobs) == 2
