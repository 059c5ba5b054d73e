import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from esagent.runs.atomic import write_json
from esagent.runs.manifest import build_manifest, differences, git_state


def _build(**changes: object) -> dict[str, object]:
    settings: dict[str, object] = {
        "config": "seed: 0\n",
        "settings": {"seed": 0},
        "model_hash": "abc",
        "initial_digest": "00",
        "seeds": {"run": 2**63},
        "dtype": "float32",
        "threads": 2,
        "device": "cpu",
        "deterministic": True,
    }
    return build_manifest(**(settings | changes))  # type: ignore[arg-type]


def test_it_says_what_ran(tmp_path: Path) -> None:
    write_json(tmp_path / "manifest.json", _build())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["versions"]["torch"] == importlib.metadata.version("torch")
    assert manifest["versions"]["python"] == sys.version.split()[0]
    assert manifest["config_sha256"] == hashlib.sha256(b"seed: 0\n").hexdigest()
    assert manifest["seeds"] == {"run": 2**63}
    assert manifest["deterministic"] is True
    assert manifest["command"] == sys.argv
    assert manifest["machine"]["memory_bytes"] > 2**20
    assert 1 <= manifest["machine"]["usable_cores"] <= manifest["machine"]["cores"] == os.cpu_count()


def test_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, esagent.runs.manifest as m\n"
        "m.build_manifest(config='', settings={}, model_hash='', initial_digest='', seeds={}, dtype='', threads=1, "
        "device='cpu', deterministic=False)\n"
        "print([n for n in ('torch', 'transformers') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "checkout" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    _git(package, "init", "-q")
    _git(package, "add", "__init__.py")
    _git(package, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "one")
    return package


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_commit_and_changes_of_the_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    state = git_state(checkout)
    monkeypatch.delenv("GIT_DIR")
    assert state == {"commit": _git(checkout, "rev-parse", "HEAD"), "dirty": False}
    (checkout / "__init__.py").write_text("x = 1\n")
    assert git_state(checkout) == state | {"dirty": True}


def test_a_package_installed_inside_a_foreign_checkout_is_in_none(checkout: Path, tmp_path: Path) -> None:
    installed = checkout / "venv" / "esagent"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert git_state(installed) is None
    assert git_state(tmp_path) is None


def test_what_equal_digests_depend_on() -> None:
    old = _build()
    assert differences(old, _build(command=["other"], seeds={"run": 1})) == []
    new = _build(threads=4, device="cuda")
    new["versions"] = {**old["versions"], "torch": "0.1"}  # type: ignore[dict-item]
    torch = importlib.metadata.version("torch")
    assert differences(old, new) == [
        "device was cpu, is cuda",
        "threads was 2, is 4",
        f"version of torch was {torch}, is 0.1",
    ]
