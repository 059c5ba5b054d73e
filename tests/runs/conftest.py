from pathlib import Path

import pytest

from esagent.runs.directory import RunDirectory, create_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return create_run(tmp_path / "runs", "test", 0, "seed: 0\n")
