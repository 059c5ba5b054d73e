"""Presets that ship are sound as they stand, or say in their header that they reproduce a fault."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from esagent.assemble import assemble
from esagent.config.compose import compose
from esagent.config.schema import Config, Guards
from esagent.guards.finding import Finding
from esagent.guards.schedule import schedule
from esagent.guards.subject import Subject

CONF = Path(__file__).parents[2] / "conf"
PRESETS = sorted([*(CONF / "algorithm").glob("*.yaml"), *(CONF / "experiment").rglob("*.yaml")], key=str)


@cache
def chain() -> Config:
    """The synthetic environment, which has parts without a model."""
    return compose(["task=synthetic"])


def faults(config: Config) -> list[Finding]:
    """Those of the schedules that a preset sets, over the synthetic environment."""
    on_chain = replace(
        chain(), algorithm=config.algorithm, sigma=replace(config.sigma, auto=False, modules={}), budget=config.budget
    )
    return [f for f in schedule(Subject(on_chain, assemble(on_chain))) if f.level == "fault"]


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_sound_or_says_that_it_is_not(path: Path) -> None:
    group = path.relative_to(CONF).parts[0]
    config = compose([f"{group}={path.relative_to(CONF / group).with_suffix('').as_posix()}"])
    found, warned = faults(config), config.guards is Guards.warn
    header = "".join(line for line in path.read_text().splitlines(keepends=True) if line.startswith("#"))
    assert bool(found) == warned, found
    assert ("guards=warn" in header) == warned
