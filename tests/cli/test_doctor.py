"""`esagent doctor`: what it prints, and its exit codes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from esagent.cli.main import app
from esagent.guards.start import GUARDS

CHAIN = ["doctor", "task=synthetic", "budget.steps=4"]
WALK = ["sigma=linear", "sigma.end=0", "algorithm.step_follows=none"]


def call(*arguments: str):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)


def test_a_sound_run(tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = call(*CHAIN, "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["mode"], found["sound"], found["jobs"]) == ("strict", True, 1)
    assert set(found["guards"]) == set(GUARDS)
    assert {"versions", "device", "threads", "sandbox", "engines", "disk"} <= {f["guard"] for f in found["machine"]}
    assert list(tmp_path.iterdir()) == []


def test_a_fault_has_exit_code_3_under_strict_alone() -> None:
    done = call(*CHAIN, *WALK)
    assert done.exit_code == 3
    assert "This machine" in done.stdout
    assert all(name in done.stdout for name in GUARDS)
    assert "sigma is 0" in done.stdout
    assert "→ end the schedule above 0" in done.stdout
    told = call(*CHAIN, *WALK, "guards=warn", "--json")
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert found["sound"] is False
    assert found["guards"]["schedule"][0]["figure"] is None


def test_the_jobs_of_a_sweep() -> None:
    done = call("doctor", "task=synthetic", "budget.steps=4,8", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["jobs"] == 2
    assert found["guards"]["budgets"][0]["figure"] == 2.0


def test_train_ends_like_the_doctor_and_leaves_nothing(tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = call("train", *CHAIN[1:], *WALK)
    assert done.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_of_unequal_budgets_is_not_begun(tmp_path) -> None:  # type: ignore[no-untyped-def]
    done = call("sweep", "task=synthetic", "budget.steps=1,2")
    assert done.exit_code == 3
    assert not (tmp_path / "runs").exists()


def test_what_the_machine_lacks_is_a_fault() -> None:
    done = call("doctor", "backend.device=cuda:7", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert [f["level"] for f in found["guards"]["parts"]] == ["fault"]
    assert "cuda:7" in found["guards"]["parts"][0]["cause"]


def test_bad_settings_have_exit_code_2() -> None:
    assert call("doctor", "sigma.strat=1").exit_code == 2
