"""Copies of public data sets, which are not part of the project: the folder ESAGENT_DATA, or ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def data(*parts: str) -> Path:
    """A file or folder of that folder. Skips the test where there is none."""
    path = Path(os.environ.get("ESAGENT_DATA") or ROOT.parent / "shared" / "data", *parts)
    if not path.exists():
        pytest.skip(f"there is no {path}; ESAGENT_DATA names the folder that holds {parts[0]}")
    return path
