"""What the synthetic environment takes and refuses, one line each."""

from __future__ import annotations

import pytest

from esagent.config.compose import compose
from esagent.errors import ConfigError

BAD = {
    "task.chain.start.caller=1.5": "task.chain.start.caller=1.5: must be above 0, at most 1",
    "task.chain.start.caller=0": "task.chain.start.caller=0.0: must be above 0, at most 1",
    "task.chain.ceiling=0.5": "task.chain.start.planner=0.9: is above task.chain.ceiling=0.5",
    "task.chain.ceiling=0": "task.chain.ceiling=0.0: must be above 0, at most 1",
    "task.chain.size=0": "task.chain.size=0: must be from 1 to 1000000",
    "task.chain.graded=1.5": "task.chain.graded=1.5: must be from 0 to 1",
    "task.chain.width.caller=0": "task.chain.width.caller=0.0: must be above 0, at most 1000000",
    "task.chain.start.caler=0.5": "task.chain.start.caler: not a module of this chain; did you mean caller?",
    "task.chain.modules=[]": "task.chain.modules=[]: a chain needs at least one module",
    "task.chain.modules=[caller,caller]": "task.chain.modules: caller named more than once",
    "task.chain.modules=[caller,checker]": "task.chain.start: says nothing of module checker; add",
    "space.partition=layer": "space.partition=layer: skills have no layers; choose module, whole, random",
    "space.layers=last:2": "space.layers=last:2: space=skills has none; leave it out",
    "space.modules=[caler]": "space.modules=caler: did you mean caller?",
    "backend.device=cuda": "backend.device=cuda: backend=synthetic runs on the CPU; leave it out",
    "backend=hf": "backend=hf: agent=chain needs backend=synthetic; task=synthetic chooses all of them",
    "task.options.size=3": "task.options.size: task=synthetic takes none",
}


@pytest.mark.parametrize(("override", "problem"), BAD.items(), ids=BAD)
def test_bad_values_get_one_line(override: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        compose(["task=synthetic", override])
    assert any(line.startswith(problem) for line in refused.value.problems), refused.value.problems
    assert all(len(line.splitlines()) == 1 for line in refused.value.problems)


def test_it_counts_no_flops() -> None:
    with pytest.raises(ConfigError, match="no model computes anything here; use budget=steps"):
        compose(["task=synthetic", "budget=flops", "budget.flops=1e9"])


@pytest.mark.parametrize("part", ["backend=synthetic", "agent=chain", "space=skills", "model=none"])
def test_its_parts_go_with_nothing_else(part: str) -> None:
    with pytest.raises(ConfigError, match="task=synthetic chooses all of them"):
        compose([part])


def test_its_settings_mean_nothing_elsewhere() -> None:
    with pytest.raises(ConfigError, match=r"task.chain.graded=0.3: is for the synthetic environment alone"):
        compose(["task.chain.graded=0.3"])


def test_a_chain_can_be_made_shorter_and_longer() -> None:
    assert compose(["task=synthetic", "task.chain.modules=[planner,caller]"]).task.chain.start["synthesizer"] == 0.9
    longer = ["task.chain.modules=[planner,caller,checker]", "task.chain.start.checker=0.7", "space.modules=[checker]"]
    assert compose(["task=synthetic", *longer]).task.chain.modules == ["planner", "caller", "checker"]
