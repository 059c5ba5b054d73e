"""Presets that ship are sound as they stand, or say in their header that they reproduce a fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from esagent.assemble import assemble
from esagent.cli.bridge import compose, expand
from esagent.cli.sweep import compose_all
from esagent.config.schema import Config, Guards
from esagent.guards.budgets import unequal
from esagent.guards.finding import Finding
from esagent.guards.schedule import schedule
from esagent.guards.subject import Subject

CONF = Path(__file__).parents[2] / "conf"
PRESETS = sorted([*(CONF / "algorithm").glob("*.yaml"), *(CONF / "experiment").rglob("*.yaml")], key=str)


def faults(config: Config) -> list[Finding]:
    """Those of the schedules that a preset sets, over the synthetic environment."""
    small = compose(["task=synthetic"])
    on_chain = replace(
        small, algorithm=config.algorithm, sigma=replace(config.sigma, auto=False, modules={}), budget=config.budget
    )
    return [f for f in schedule(Subject(on_chain, assemble(on_chain))) if f.level == "fault"]


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_sound_or_says_that_it_is_not(path: Path) -> None:
    group = path.relative_to(CONF).parts[0]
    option = path.relative_to(CONF / group).with_suffix("").as_posix()
    seeds = {"seed=1", "seed=2"}  # they differ in nothing else
    jobs = [job for job in expand([f"{group}={option}"], None).jobs if not seeds & set(job)]
    configs = compose_all(jobs, None)
    found = [f for config in configs for f in faults(config)] + [f for f in unequal(configs) if f.level == "fault"]
    warned = {config.guards for config in configs} == {Guards.warn}
    text = path.read_text()
    header = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    assert bool(found) == warned, found
    assert ("guards=warn" in header) == warned
