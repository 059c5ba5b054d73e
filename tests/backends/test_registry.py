"""A backend computes on the threads that the configuration or the environment gives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from esagent.backends.registry import make_backend
from tests.helpers.tiny import make_tiny_folder
from tests.runs.tiny_run import tiny_config


@pytest.mark.parametrize(
    ("asked", "environment", "threads"),
    [(0, "3", 3), (2, "3", 2), (1, None, 1), (0, None, len(os.sched_getaffinity(0)))],
)
def test_threads_are_those_asked_for_then_those_of_the_environment_then_all(
    asked: int, environment: str | None, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if environment:
        monkeypatch.setenv("OMP_NUM_THREADS", environment)
    torch.set_num_threads(3)  # what a library that heeds the environment begins with
    try:
        make_backend(
            tiny_config(make_tiny_folder(tmp_path / "model"), tmp_path, f"backend.threads={asked}"), ("planner",)
        )
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
