"""Which GPUs there are, and that no two jobs hold one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from esagent.config.schema import BackendConfig, Config
from esagent.sweep.devices import CPU, devices_for, environment, reserve, visible_devices
from esagent.sweep.folder import SweepFolder


@pytest.mark.parametrize(
    ("given", "devices"),
    [("0,1", ["0", "1"]), ("3", ["3"]), ("", []), ("-1", []), ("GPU-8f, MIG-1/2/0", ["GPU-8f", "MIG-1/2/0"])],
)
def test_the_environment_limits_which_are_used(given: str, devices: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert visible_devices() == devices


@pytest.mark.parametrize(("script", "devices"), [("echo 0; echo 1", ["0", "1"]), ("echo no driver; exit 9", [])])
def test_else_the_driver_is_asked(
    script: str, devices: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_devices() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    assert visible_devices() == devices


@pytest.mark.parametrize(("device", "given"), [("auto", ["0", "1"]), ("cuda", ["0", "1"]), ("cuda:1", []), ("cpu", [])])
def test_a_configuration_that_names_its_device_is_given_none(device: str, given: list[str]) -> None:
    assert devices_for(Config(backend=BackendConfig(device=device)), ["0", "1"]) == given


def test_a_whole_machine_is_for_every_job() -> None:
    assert devices_for(Config(backend=BackendConfig(device="cpu")), [CPU]) == [CPU]
    assert environment(CPU) == environment(None)
    assert environment("MIG-1/2/0")["CUDA_VISIBLE_DEVICES"] == "MIG-1/2/0"


def test_each_device_is_held_once_and_given_back(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    devices = ["0", "MIG-1/2/0"]
    third: list[str | None] = []

    def wait() -> None:
        with reserve(folder, devices) as device:
            third.append(device)

    with reserve(folder, devices) as first:
        with reserve(folder, devices) as second:
            assert {first, second} == set(devices)
            waiting = threading.Thread(target=wait)
            waiting.start()
            waiting.join(0.5)
            assert waiting.is_alive()
        waiting.join(10)
        assert third == [second]
    with reserve(folder, []) as none:
        assert none is None


def test_waiting_ends_when_the_sweep_is_stopped(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    with reserve(folder, ["0"]) as first:
        folder.request_stop(15)
        with reserve(folder, ["0"]) as second:
            assert (first, second) == ("0", None)
    assert folder.stop_requests() == [15]
    folder.request_stop(2)
    assert folder.stop_requests() == [15, 2]
