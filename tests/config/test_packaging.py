"""The wheel holds every package and every configuration, and works from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pyproject_lists_every_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "esagent").rglob("__init__.py")}
    assert set(listed) == found | {"esagent.conf"}


def test_a_wheel_finds_its_configurations_anywhere(tmp_path: Path) -> None:
    source, unpacked, empty = tmp_path / "source", tmp_path / "unpacked", tmp_path / "empty"
    for folder in ("esagent", "conf"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(unpacked)
    empty.mkdir()

    shipped = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    assert {path.relative_to(unpacked / "esagent/conf") for path in unpacked.rglob("conf/**/*.yaml")} == shipped
    prompts = {path.relative_to(ROOT) for path in (ROOT / "esagent").rglob("*.txt")}
    assert {path.relative_to(unpacked) for path in (unpacked / "esagent").rglob("*.txt")} == prompts

    where = "import esagent, esagent.conf; print(esagent.__file__, esagent.conf.__file__)"
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    origin = subprocess.run(
        [sys.executable, "-c", where], cwd=empty, env=environment, check=True, capture_output=True, text=True
    )
    assert all(path.startswith(str(unpacked)) for path in origin.stdout.split())
    command = [sys.executable, "-m", "esagent", "train", "budget=quick", "--dry-run"]
    done = subprocess.run(command, cwd=empty, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\n  steps: 4\n" in done.stdout
