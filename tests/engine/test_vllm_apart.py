"""An engine in a process of its own gets perturbations, adapters and updates as the one in this process does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.engine.apart import answers
from tests.engine.pool import hf

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("name", ["lora", "full-untied"])
def test_answers_are_those_of_hf(name: str) -> None:
    command = [sys.executable, "-m", "tests.engine.apart", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=240)
    assert json.loads(done.stdout.strip().splitlines()[-1]) == answers(hf(name))
